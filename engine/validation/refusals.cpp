// Calls that return an error which no right program meets: a program in C often does not look at results.
#include <string>
#include <string_view>
#include <utility>

#include "../abi/error.h"
#include "../check/finding.h"
#include "hooks.h"

namespace anyzero {

namespace {

struct Refusal {
  ze_result_t result;
  const char* name;
  bool of_questions;  // also where a program only asks
  uint32_t kinds = kCheckStrict;
};

// Handles of objects that were destroyed are about the life of objects, too.
constexpr uint32_t kOfHandles = kCheckStrict | kCheckSync;

// Not here: errors by which programs find out what there is, such as unsupported formats and names that a module may lack, and
// those that any program may meet, such as too little memory.
constexpr Refusal kRefusals[] = {
    {ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "INVALID_NULL_HANDLE", true, kOfHandles},
    {ZE_RESULT_ERROR_INVALID_NULL_POINTER, "INVALID_NULL_POINTER", true},
    {ZE_RESULT_ERROR_INVALID_ARGUMENT, "INVALID_ARGUMENT", false},
    {ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "HANDLE_OBJECT_IN_USE", false},
    {ZE_RESULT_ERROR_INVALID_SIZE, "INVALID_SIZE", false},
    {ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT, "INVALID_SYNCHRONIZATION_OBJECT", true, kOfHandles},
    {ZE_RESULT_ERROR_INVALID_ENUMERATION, "INVALID_ENUMERATION", false},
    {ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION, "INVALID_GROUP_SIZE_DIMENSION", false},
    {ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION, "INVALID_GLOBAL_WIDTH_DIMENSION", false},
    {ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX, "INVALID_KERNEL_ARGUMENT_INDEX", false},
    {ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE, "INVALID_KERNEL_ARGUMENT_SIZE", false},
    {ZE_RESULT_ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE, "INVALID_KERNEL_ATTRIBUTE_VALUE", false},
    {ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED, "INVALID_MODULE_UNLINKED", false},
    {ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "INVALID_COMMAND_LIST_TYPE", false},
    {ZE_RESULT_ERROR_OVERLAPPING_REGIONS, "OVERLAPPING_REGIONS", false},
};

bool asks(std::string_view function) { return function.find("Get") != function.npos || function.find("Query") != function.npos; }

}  // namespace

void check_refused(ze_result_t result) {
  if (!host_place.function || host_place.told) return;
  for (const Refusal& each : kRefusals) {
    if (each.result != result || !is_checked(each.kinds) || (!each.of_questions && asks(host_place.function))) continue;
    const CallPlace at;
    // The language makes an exception of it.
    if (at.managed || seen(Rule::RefusedCall, at.number)) return;
    const std::string why = last_error();
    report({Rule::RefusedCall, at.number,
            std::string("the call returns ZE_RESULT_ERROR_") + each.name + (why.empty() ? "" : ": " + why), "", "", "", "", ""});
  }
}

void check_refused(ze_result_t result, const char* function, const void* caller) {
  if (!is_checked(kOfHandles)) return;
  const HostPlace outer = std::exchange(host_place, {function, caller, false});
  check_refused(result);
  host_place = outer;
}

}  // namespace anyzero
