// What works here, and may not on hardware or by the specification.
#include <cstdio>

#include "../abi/chain.h"
#include "../abi/gen/structures.h"
#include "../abi/handle.h"
#include "../check/finding.h"
#include "../objects/commands/command_list.h"
#include "../objects/modules/kernel.h"
#include "../objects/sync/event.h"
#include "hooks.h"

namespace anyzero {

namespace {

void report_strict(Rule rule, const std::string& message, const std::string& other = "") {
  const uint64_t place = CallPlace().number;
  if (!seen(rule, place)) report({rule, place, message, "", "", "", "", other});
}

}  // namespace

void check_append(ze_command_list_handle_t handle, ze_event_handle_t signal, uint32_t n, ze_event_handle_t* waits) {
  auto* list = checked<CommandList>(handle);
  if (!list || !is_checked(kCheckStrict)) return;
  if (list->closed()) report_strict(Rule::ClosedList, "a command is appended to a closed command list");
  const auto look = [&](ze_event_handle_t each) {
    auto* event = checked<Event>(each);
    if (event && &event->context() != &list->context())
      report_strict(Rule::OtherContext, "a command uses an event that belongs to another context than its command list");
  };
  look(signal);
  for (uint32_t i = 0; waits && i < n; ++i) look(waits[i]);
}

void check_structure(const void* structure, uint32_t wanted, const char* name) {
  auto* head = static_cast<const ze_base_desc_t*>(structure);
  if (!head || !is_checked(kCheckStrict)) return;
  char message[160];
  // Device properties have two: timestamps are in other units behind the second.
  const bool known = type_of(*head) == wanted ||
                     (wanted == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES && type_of(*head) == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);
  if (!known) {
    std::snprintf(message, sizeof message, "the stype of a %s is %#x instead of %#x", name, type_of(*head), wanted);
    report_strict(Rule::WrongStructureType, message);
  }
  for (const ze_base_desc_t& each : Chain(head->pNext)) {
    if (structure_size(type_of(each))) continue;
    std::snprintf(message, sizeof message, "the pNext chain of a %s has a structure of the unknown type %#x", name, type_of(each));
    report_strict(Rule::UnknownStructure, message);
    break;
  }
}

void check_host_visible(ze_event_handle_t handle) {
  auto* event = checked<Event>(handle);
  if (!event || !is_checked(kCheckStrict)) return;
  if (!(event->pool().flags() & ZE_EVENT_POOL_FLAG_HOST_VISIBLE))
    report_strict(Rule::EventNotHostVisible, "the host uses an event whose pool is not host-visible");
}

ze_result_t before_zeEventQueryStatus(ze_event_handle_t event) {
  check_host_visible(event);
  return ZE_RESULT_SUCCESS;
}

ze_result_t before_zeEventHostSignal(ze_event_handle_t event) {
  check_host_visible(event);
  return ZE_RESULT_SUCCESS;
}

ze_result_t before_zeCommandListAppendLaunchKernel(ze_command_list_handle_t list_handle, ze_kernel_handle_t kernel_handle,
                                                   const ze_group_count_t*, ze_event_handle_t, uint32_t, ze_event_handle_t*) {
  auto* list = checked<CommandList>(list_handle);
  auto* kernel = checked<Kernel>(kernel_handle);
  if (list && kernel && is_checked(kCheckStrict) && &kernel->module().context() != &list->context())
    report_strict(Rule::OtherContext, "the launched kernel belongs to another context than the command list");
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
