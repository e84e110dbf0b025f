// Calls that check mode has nothing to say about, as a few tests show: they go on to the function itself, by a jump.
// `python -m codegen` finds these functions by their names. passes_NAME has the parameters of the function. passes_briefly_NAME is
// the same for a wait: if the wait has no time limit and takes longer than kBriefWait, the other hooks look at it.
#pragma once

#include <cstring>

#include "../abi/handle.h"
#include "../objects/commands/command_list.h"
#include "../objects/commands/command_queue.h"
#include "../objects/modules/kernel.h"
#include "../objects/sync/event.h"
#include "../objects/sync/fence.h"
#include "../system/watched.h"
#include "callers.h"
#include "commands.h"
#include "known_memory.h"

namespace anyzero {

inline constexpr uint64_t kBriefWait = 50'000'000;  // nanoseconds
inline uint64_t brief(uint64_t timeout) { return timeout == UINT64_MAX ? kBriefWait : timeout; }

// False while something looks at every call, and before the first call of a thread.
[[gnu::always_inline]] inline bool may_pass() { return watched.load(std::memory_order_relaxed) == kChecked && is_caller; }

// A list that commands may be appended to, or nullptr.
[[gnu::always_inline]] inline const CommandList* open_list(ze_command_list_handle_t handle) {
  const auto* list = checked<CommandList>(handle);
  return list && !list->closed() ? list : nullptr;
}

// Whether all `bytes` lie in one allocation of the context, or nothing is known of them.
[[gnu::always_inline]] inline bool is_inside(const void* pointer, uint64_t bytes, const Context& context) {
  const auto at = reinterpret_cast<uintptr_t>(pointer);
  if (!recent_memories) [[unlikely]]
    return false;
  const KnownMemory& recent = recent_memory(at);
  return at - recent.begin < recent.size && bytes <= recent.end - at &&
         recent.version == allocation_changes.load(std::memory_order_relaxed) && (recent.context == &context || !recent.context);
}

[[gnu::always_inline]] inline bool is_host_visible(const Event& event) {
  return event.pool().flags() & ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
}

[[gnu::always_inline]] inline bool has_host_scope(const Event& event) {
  return (event.signal_scope() | event.wait_scope()) & ZE_EVENT_SCOPE_FLAG_HOST;
}

// Of every append with events, beside its own test: they belong to the list's context, and the signalled one shows the command's
// results to the host, if the host can wait for it.
inline bool events_pass(ze_command_list_handle_t handle, ze_event_handle_t signal, uint32_t n, ze_event_handle_t* waits) {
  const auto* list = checked<CommandList>(handle);
  if (!list || (n && !waits)) return false;
  if (signal) {
    const auto* event = checked<Event>(signal);
    if (!event || &event->context() != &list->context() || (is_host_visible(*event) && !has_host_scope(*event))) return false;
  }
  for (uint32_t i = 0; i < n; ++i) {
    const auto* event = checked<Event>(waits[i]);
    if (!event || &event->context() != &list->context()) return false;
  }
  return true;
}

[[gnu::always_inline]] inline bool passes_zeCommandListAppendMemoryCopy(ze_command_list_handle_t handle, void* to, const void* from,
                                                                        size_t size, ze_event_handle_t, uint32_t,
                                                                        ze_event_handle_t*) {
  if (!may_pass()) return false;
  const CommandList* list = open_list(handle);
  return list && is_inside(to, size, list->context()) && is_inside(from, size, list->context());
}

[[gnu::always_inline]] inline bool passes_zeCommandListAppendMemoryFill(ze_command_list_handle_t handle, void* to, const void*,
                                                                        size_t, size_t size, ze_event_handle_t, uint32_t,
                                                                        ze_event_handle_t*) {
  if (!may_pass()) return false;
  const CommandList* list = open_list(handle);
  return list && is_inside(to, size, list->context());
}

[[gnu::always_inline]] inline bool passes_zeCommandListAppendLaunchKernel(ze_command_list_handle_t handle,
                                                                          ze_kernel_handle_t kernel_handle, const ze_group_count_t*,
                                                                          ze_event_handle_t, uint32_t, ze_event_handle_t*) {
  if (!may_pass()) return false;
  const CommandList* list = open_list(handle);
  const auto* kernel = checked<Kernel>(kernel_handle);
  if (!list || !kernel || &kernel->module().context() != &list->context() || !kernel->images().empty()) return false;
  for (const Argument& argument : kernel->code().facts().arguments) {
    if (!argument.pointer()) continue;
    const void* memory;
    std::memcpy(&memory, kernel->args() + argument.offset, sizeof memory);
    if (memory && !is_inside(memory, 0, list->context())) return false;
  }
  return true;
}

[[gnu::always_inline]] inline bool passes_zeCommandListAppendBarrier(ze_command_list_handle_t list, ze_event_handle_t, uint32_t,
                                                                     ze_event_handle_t*) {
  return may_pass() && open_list(list);
}

[[gnu::always_inline]] inline bool passes_zeEventQueryStatus(ze_event_handle_t handle) {
  if (!may_pass()) return false;
  const auto* event = checked<Event>(handle);
  return event && is_host_visible(*event);
}

inline bool passes_zeEventHostReset(ze_event_handle_t handle) {
  if (!may_pass()) return false;
  const auto* event = checked<Event>(handle);
  return event && is_host_visible(*event) && are_idle(event->driver());
}

inline bool passes_zeFenceReset(ze_fence_handle_t handle) {
  if (!may_pass()) return false;
  const auto* fence = checked<Fence>(handle);
  return fence && are_idle(fence->queue().context().driver());
}

inline bool passes_zeCommandListReset(ze_command_list_handle_t handle) {
  if (!may_pass()) return false;
  const auto* list = checked<CommandList>(handle);
  return list && are_idle(list->context().driver());
}

inline bool passes_zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t handle, uint32_t count,
                                                     ze_command_list_handle_t* lists, ze_fence_handle_t fence) {
  if (!may_pass() || fence || !lists) return false;
  const auto* queue = checked<CommandQueue>(handle);
  for (uint32_t i = 0; queue && i < count; ++i) {
    const auto* list = checked<CommandList>(lists[i]);
    if (!list || &list->context() != &queue->context()) return false;
  }
  return queue;
}

[[gnu::always_inline]] inline bool passes_briefly_zeEventHostSynchronize(ze_event_handle_t handle, uint64_t) {
  if (!may_pass()) return false;
  const auto* event = checked<Event>(handle);
  return event && is_host_visible(*event) && has_host_scope(*event);
}

[[gnu::always_inline]] inline bool passes_briefly_zeFenceHostSynchronize(ze_fence_handle_t, uint64_t) { return may_pass(); }
[[gnu::always_inline]] inline bool passes_briefly_zeCommandQueueSynchronize(ze_command_queue_handle_t, uint64_t) {
  return may_pass();
}
[[gnu::always_inline]] inline bool passes_briefly_zeCommandListHostSynchronize(ze_command_list_handle_t, uint64_t) {
  return may_pass();
}

}  // namespace anyzero
