// Dispatch for several libraries: every object begins with the tables of its driver, so calls are dispatched by handle.
#include <new>
#include <tuple>

#include "dispatch.h"
#include "libraries.h"

namespace anyzero::loader {

namespace {

// The function in an object's tables, or the reason why it is missing.
template <class F, auto Block, auto Table, auto Slot, uint32_t Since>
F find(const void* handle, ze_result_t* why) {
  const auto address = reinterpret_cast<uintptr_t>(handle);
  // No object is in the first page or misaligned: this catches small numbers and error codes passed as a handle.
  if (address < 4096 || address % alignof(ze_handle_t) != 0) {
    *why = ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    return nullptr;
  }
  *why = ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  const auto* tables = static_cast<const ze_handle_t*>(handle)->*Block;
  // If the driver is older than the function, its tables end before it.
  if (!tables || !tables->isValidFlag || static_cast<uint32_t>(tables->version) < Since) return nullptr;
  const auto* table = tables->*Table;
  return table ? table->*Slot : nullptr;
}

template <class F, auto... Way>
struct ByHandle;
template <class R, class Handle, class... A, auto... Way>
struct ByHandle<R (*)(Handle, A...), Way...> {
  static R call(Handle handle, A... rest) {
    ze_result_t why;
    auto* function = find<R (*)(Handle, A...), Way...>(handle, &why);
    return function ? function(handle, rest...) : refusal<R>(why);
  }
};

template <class F, size_t Place, auto... Way>
struct ByArray;
template <class R, class... A, size_t Place, auto... Way>
struct ByArray<R (*)(A...), Place, Way...> {
  static R call(A... all) {
    const auto parameters = std::tie(all...);
    auto* array = std::get<Place>(parameters);
    if (!array) return refusal<R>(ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    if (std::get<Place - 1>(parameters) == 0) return refusal<R>(ZE_RESULT_ERROR_INVALID_SIZE);
    ze_result_t why;
    auto* function = find<R (*)(A...), Way...>(array[0], &why);
    return function ? function(all...) : refusal<R>(why);
  }
};

// Calls without an object, and calls that are the same for all drivers.
namespace shared {

using ::zeInit;
using ::zeInitDrivers;
using ::zesInit;

ze_result_t zeDriverGet(uint32_t* count, ze_driver_handle_t* drivers) try {
  return Libraries::all().drivers(count, drivers);
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t zesDriverGet(uint32_t* count, zes_driver_handle_t* drivers) try {
  return Libraries::all().sysman_drivers(count, drivers);
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

// The runtime API uses one driver, the first.
const Functions& runtime() { return Libraries::all().first().functions(); }

ze_result_t zerGetLastErrorDescription(const char** text) { return runtime().zerGetLastErrorDescription(text); }

ze_device_handle_t zerTranslateIdentifierToDeviceHandle(uint32_t identifier) {
  return runtime().zerTranslateIdentifierToDeviceHandle(identifier);
}

ze_context_handle_t zerGetDefaultContext() { return runtime().zerGetDefaultContext(); }

// An identifier from another driver would name a different device here.
uint32_t zerTranslateDeviceHandleToIdentifier(ze_device_handle_t device) {
  ze_result_t why;
  auto* translate = find<decltype(&::zerTranslateDeviceHandleToIdentifier), &ze_handle_t::pRuntime, &zer_dditable_driver_t::Global,
                         &zer_global_dditable_t::pfnTranslateDeviceHandleToIdentifier, ZE_API_VERSION_1_14>(device, &why);
  bool of_first = translate && translate == runtime().zerTranslateDeviceHandleToIdentifier;
  return of_first ? translate(device) : refusal<uint32_t>(why);
}

}  // namespace shared

constexpr Functions make() {
  Functions made{
#define FUNCTION(name, place, ...) .name = ByHandle<decltype(&::name), __VA_ARGS__>::call,
#define ARRAY_1_FUNCTION(name, place, ...) .name = ByArray<decltype(&::name), 1, __VA_ARGS__>::call,
#define ARRAY_2_FUNCTION(name, place, ...) .name = ByArray<decltype(&::name), 2, __VA_ARGS__>::call,
#define FREE_FUNCTION(name, ...) .name = shared::name,
#include "gen/functions.inc"
  };
  made.zerTranslateDeviceHandleToIdentifier = shared::zerTranslateDeviceHandleToIdentifier;
  return made;
}

}  // namespace

constinit const Functions by_handle = make();

}  // namespace anyzero::loader
