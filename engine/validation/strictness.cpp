// Calls that work here, and may not on hardware or by the specification.
#include <cstdio>
#include <cstring>

#include "../abi/chain.h"
#include "../abi/gen/structures.h"
#include "../abi/handle.h"
#include "../check/finding.h"
#include "../exec/bounds.h"
#include "../objects/commands/command_list.h"
#include "../objects/images/image.h"
#include "../objects/images/sampler.h"
#include "../objects/memory/allocation.h"
#include "../objects/modules/kernel.h"
#include "../objects/sync/event.h"
#include "hooks.h"
#include "host_scope.h"
#include "known_memory.h"
#include "passing.h"
#include "races.h"
#include "spans.h"

namespace anyzero {

namespace {

// Out of line, as the next one: appends that are right pay for little more than the tests.
[[gnu::cold, gnu::noinline]] void report_strict(Rule rule, const std::string& message, const std::string& other = "") {
  const uint64_t place = CallPlace().number;
  if (!seen(rule, place)) report({rule, place, message, "", "", "", "", other});
}

[[gnu::noinline]] void check_events(const CommandList& list, ze_event_handle_t signal, uint32_t n, ze_event_handle_t* waits) {
  const auto look = [&](ze_event_handle_t each) {
    auto* event = checked<Event>(each);
    if (event && &event->context() != &list.context())
      report_strict(Rule::OtherContext, "a command uses an event that belongs to another context than its command list");
  };
  look(signal);
  for (uint32_t i = 0; waits && i < n; ++i) look(waits[i]);
}

// A kernel keeps its images and samplers, and would find them after they are destroyed.
void check_images(const Kernel& kernel) {
  for (const Ref<Image>& image : kernel.images())
    if (image && !checked<Image>(handle_of<ze_image_handle_t>(image.get())))
      report_strict(Rule::UseAfterFree, "a kernel is launched with an image that has been destroyed");
  for (const Ref<Sampler>& sampler : kernel.samplers())
    if (sampler && !checked<Sampler>(handle_of<ze_sampler_handle_t>(sampler.get())))
      report_strict(Rule::UseAfterFree, "a kernel is launched with a sampler that has been destroyed");
}

// A number that a newer specification than ours may have given out: they come in three rows, of the core, of extensions and of
// experimental ones.
bool may_be_newer(uint32_t type) { return type < 0x30000 && type % 0x10000 < 0x100; }

}  // namespace

void check_append(ze_command_list_handle_t handle, ze_event_handle_t signal, uint32_t n, ze_event_handle_t* waits) {
  auto* list = checked<CommandList>(handle);
  if (!list) return;
  if (follows_commands()) note_append(*list);
  if (!is_checked(kCheckStrict)) return;
  if (list->closed()) [[unlikely]]
    report_strict(Rule::ClosedList, "a command is appended to a closed command list");
  if (signal || n) check_events(*list, signal, n, waits);
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
  const void* next = head->pNext;
  for (const ze_base_desc_t& each : Chain(head->pNext)) {
    next = each.pNext;
    if (structure_size(type_of(each)) || may_be_newer(type_of(each))) continue;
    std::snprintf(message, sizeof message, "the pNext chain of a %s has a structure of the unknown type %#x", name, type_of(each));
    return report_strict(Rule::UnknownStructure, message);
  }
  // The walk goes on while there is a structure.
  if (!next || Chain(next).begin() != Chain::End{}) return;
  std::snprintf(message, sizeof message, "the pNext chain of a %s leads to %p, where no structure can be", name, next);
  report_strict(Rule::UnknownStructure, message);
}

void check_host_visible(ze_event_handle_t handle) {
  auto* event = checked<Event>(handle);
  if (!event || !is_checked(kCheckStrict)) return;
  if (!(event->pool().flags() & ZE_EVENT_POOL_FLAG_HOST_VISIBLE))
    report_strict(Rule::EventNotHostVisible, "the host uses an event whose pool is not host-visible");
}

void before_zeEventQueryStatus(ze_event_handle_t event) { check_host_visible(event); }

void after_zeEventQueryStatus(ze_result_t result, ze_event_handle_t event) { note_event_seen(result, event); }

void after_zeEventHostSynchronize(ze_result_t result, ze_event_handle_t event, uint64_t) {
  check_host_scope(result, event);
  note_event_seen(result, event);
}

void before_zeEventHostSignal(ze_event_handle_t event) {
  check_host_visible(event);
  note_host_signal(event);
}

bool arguments_pass(const CommandList& list, Kernel& kernel) {
  // Images and samplers may be destroyed meanwhile.
  if (!kernel.images().empty() || !kernel.samplers().empty()) return false;
  const uint64_t version = allocation_changes.load(std::memory_order_relaxed);
  for (const Argument& argument : kernel.code().facts().arguments) {
    if (!argument.pointer()) continue;
    const void* memory;
    std::memcpy(&memory, kernel.args() + argument.offset, sizeof memory);
    if (!memory) continue;
    const KnownMemory& known = known_memory(memory);
    if (known.freed || (known.context && known.context != &list.context())) return false;
  }
  kernel.note_allowed(version);
  return true;
}

void check_context(ze_command_list_handle_t list_handle, ze_kernel_handle_t handle) {
  auto* list = checked<CommandList>(list_handle);
  auto* kernel = checked<Kernel>(handle);
  if (!list || !kernel || !is_checked(kCheckStrict)) return;
  if (&kernel->module().context() != &list->context())
    report_strict(Rule::OtherContext, "the launched kernel belongs to another context than the command list");
}

void check_arguments(ze_command_list_handle_t list, ze_kernel_handle_t handle, void* const* given, ze_event_handle_t signal) {
  auto* kernel = checked<Kernel>(handle);
  if (!kernel) return;
  if (!given && is_checked(kCheckMemory)) check_images(*kernel);
  if (!is_checked(kCheckStrict)) return;
  const bool unscoped = signal && lacks_host_scope(signal);
  const std::vector<Argument>& arguments = kernel->code().facts().arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const void* value = given ? given[i] : kernel->args() + arguments[i].offset;
    if (!arguments[i].pointer() || !value) continue;
    const void* memory;
    std::memcpy(&memory, value, sizeof memory);
    check_context(list, memory);
    if (unscoped && memory && (arguments[i].access & ArgumentUse::kFirstWrites)) note_result(signal, memory);
  }
}

void check_context(ze_command_list_handle_t list_handle, ze_image_handle_t handle) {
  auto* list = checked<CommandList>(list_handle);
  auto* image = checked<Image>(handle);
  if (list && image && is_checked(kCheckStrict) && &image->context() != &list->context())
    report_strict(Rule::OtherContext, "a command uses an image of another context than its command list's");
}

void check_context(ze_command_list_handle_t list_handle, const void* memory) {
  if (!is_checked(kCheckStrict)) return;
  auto* list = checked<CommandList>(list_handle);
  if (!list || !memory) return;
  const Context* owner = known_memory(memory).context;
  if (!owner || owner == &list->context()) return;
  report_strict(Rule::OtherContext, "a command uses memory of another context than its command list's",
                memory_at(reinterpret_cast<uintptr_t>(memory)));
}

void check_alignment(const void* pointer, size_t alignment, const char* what) {
  if (!is_checked(kCheckStrict) || reinterpret_cast<uintptr_t>(pointer) % alignment == 0) return;
  char message[160];
  std::snprintf(message, sizeof message, "the address %p of %s is no multiple of %zu", pointer, what, alignment);
  report_strict(Rule::MisalignedPointer, message);
}

ze_result_t before_zeCommandListAppendLaunchKernelIndirect(ze_command_list_handle_t list, ze_kernel_handle_t,
                                                           const ze_group_count_t* count, ze_event_handle_t, uint32_t,
                                                           ze_event_handle_t*) {
  check_alignment(count, alignof(ze_group_count_t), "the number of groups");
  return check_reads(list, count, sizeof *count);
}

ze_result_t before_zeCommandListAppendLaunchMultipleKernelsIndirect(ze_command_list_handle_t list, uint32_t count,
                                                                    ze_kernel_handle_t*, const uint32_t* launched,
                                                                    const ze_group_count_t* groups, ze_event_handle_t, uint32_t,
                                                                    ze_event_handle_t*) {
  if (ze_result_t r = check_reads(list, launched, sizeof *launched)) return r;
  return check_reads(list, groups, uint64_t{count} * sizeof *groups);
}

// Hardware drivers copy as many bytes as the argument has. A larger value does no harm.
void before_zeKernelSetArgumentValue(ze_kernel_handle_t handle, uint32_t index, size_t size, const void* value) {
  auto* kernel = checked<Kernel>(handle);
  if (!kernel || !value || !is_checked(kCheckStrict)) return;
  const KernelFacts& facts = kernel->code().facts();
  if (index >= facts.arguments.size()) return;
  const Argument& argument = facts.arguments[index];
  if (argument.kind == ArgumentKind::Local || size >= argument.size) return;
  report_strict(Rule::WrongArgumentSize, "argument " + std::to_string(index) + " of kernel " + facts.name + " has " +
                                             std::to_string(argument.size) + " bytes, and the program gives " +
                                             std::to_string(size));
}

}  // namespace anyzero
