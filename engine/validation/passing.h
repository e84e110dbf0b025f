// Calls that check mode has nothing to say about, as a few tests show: they go on as without it.
// `python -m codegen` finds these functions by their names. passes_NAME has the objects that the entry point has found for the
// handles, and its other parameters. passes_briefly_NAME is the same for a wait: if the wait has no time limit and takes longer
// than kBriefWait, the hooks look at it.
#pragma once

#include "../abi/handle.h"
#include "../exec/wait.h"
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

// One that nearly always holds: the code of the rare case lies elsewhere, so that nothing jumps where it does.
[[gnu::always_inline]] inline bool usually(bool condition) { return __builtin_expect(condition, 1); }

inline constexpr uint64_t kBriefWait = 50'000'000;  // nanoseconds
inline uint64_t brief(uint64_t timeout) { return timeout == UINT64_MAX ? kBriefWait : timeout; }

// False while something looks at every call, and before the first call of a thread.
[[gnu::always_inline]] inline bool may_pass() { return watched.load(std::memory_order_relaxed) == passes_while; }

// Whether all `bytes` lie in one allocation of the context, or nothing is known of them.
[[gnu::always_inline]] inline bool is_inside(const ThreadMemories& known, const void* pointer, uint64_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(pointer);
  const PassingMemory& memory = known.passing[passing_place(at)];
  const uintptr_t offset = at - memory.begin;
  return usually(offset < memory.size) && usually(bytes <= memory.room - offset);
}

// The memory that commands of the list may name, or nullptr if nothing is known by now.
[[gnu::always_inline]] inline const ThreadMemories* memories_for(const CommandList& list) {
  const ThreadMemories* known = memories;
  if (!usually(known->version == allocation_changes.load(std::memory_order_relaxed))) return nullptr;
  return usually(known->context == &list.context()) ? known : nullptr;
}

[[gnu::always_inline]] inline bool is_host_visible(const Event& event) {
  return event.pool().flags() & ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
}

[[gnu::always_inline]] inline bool has_host_scope(const Event& event) {
  return (event.signal_scope() | event.wait_scope()) & ZE_EVENT_SCOPE_FLAG_HOST;
}

// Of every append: its events belong to the list's context, and the signalled one shows the command's results to the host, if the
// host can wait for it. A call that waits for events itself may never end, and needs a record of its place.
[[gnu::always_inline]] inline bool events_pass(const CommandList& list, const Event* signal, uint32_t n, Event* const* waits) {
  if (signal) {
    if (!usually(&signal->context() == &list.context())) return false;
    if (is_host_visible(*signal) && !usually(has_host_scope(*signal))) return false;
  }
  for (uint32_t i = 0; i < n; ++i)
    if (!usually(&waits[i]->context() == &list.context())) return false;
  return n == 0 || usually(!list.synchronous());
}

[[gnu::always_inline]] inline bool passes_zeCommandListAppendMemoryCopy(const CommandList& list, void* to, const void* from,
                                                                        size_t size, const Event* signal, uint32_t n,
                                                                        Event* const* waits) {
  const ThreadMemories* known = memories_for(list);
  if (!usually(known) || !usually(!list.closed())) return false;
  if (!usually(is_inside(*known, to, size)) || !usually(is_inside(*known, from, size))) return false;
  return events_pass(list, signal, n, waits);
}

[[gnu::always_inline]] inline bool passes_zeCommandListAppendMemoryFill(const CommandList& list, void* to, const void*, size_t,
                                                                        size_t size, const Event* signal, uint32_t n,
                                                                        Event* const* waits) {
  const ThreadMemories* known = memories_for(list);
  if (!usually(known) || !usually(!list.closed()) || !usually(is_inside(*known, to, size))) return false;
  return events_pass(list, signal, n, waits);
}

// After an argument was set, or memory allocated or freed.
bool arguments_pass(const CommandList& list, Kernel& kernel);

[[gnu::always_inline]] inline bool passes_zeCommandListAppendLaunchKernel(const CommandList& list, Kernel& kernel,
                                                                          const ze_group_count_t*, const Event* signal, uint32_t n,
                                                                          Event* const* waits) {
  if (!usually(!list.closed()) || !usually(&kernel.module().context() == &list.context())) return false;
  if (!usually(kernel.is_allowed(allocation_changes.load(std::memory_order_relaxed))) && !arguments_pass(list, kernel))
    return false;
  return events_pass(list, signal, n, waits);
}

[[gnu::always_inline]] inline bool passes_zeCommandListAppendBarrier(const CommandList& list, const Event* signal, uint32_t n,
                                                                     Event* const* waits) {
  return usually(!list.closed()) && events_pass(list, signal, n, waits);
}

[[gnu::always_inline]] inline bool passes_zeCommandListAppendSignalEvent(const CommandList& list, const Event& event) {
  return !list.closed() && events_pass(list, &event, 0, nullptr);
}

[[gnu::always_inline]] inline bool passes_zeCommandListAppendWaitOnEvents(const CommandList& list, uint32_t n,
                                                                          Event* const* waits) {
  return !list.closed() && events_pass(list, nullptr, n, waits);
}

[[gnu::always_inline]] inline bool passes_zeEventQueryStatus(const Event& event) { return is_host_visible(event); }

// Commands hold the objects that they use until they are done: an object that nothing else holds is not in use.
[[gnu::always_inline]] inline bool is_held(const Header& object) { return object.users.load(std::memory_order_acquire) > 1; }

[[gnu::always_inline]] inline bool passes_zeEventHostReset(const Event& event) {
  return is_host_visible(event) && (!is_held(event) || are_idle(event.driver()));
}

[[gnu::always_inline]] inline bool passes_zeFenceReset(const Fence& fence) {
  return !is_held(fence) || are_idle(fence.queue().context().driver());
}

[[gnu::always_inline]] inline bool passes_zeCommandListReset(const CommandList& list) {
  return (!list.immediate() && !list.program().shared()) || are_idle(list.context().driver());
}

[[gnu::always_inline]] inline bool passes_zeCommandQueueExecuteCommandLists(const CommandQueue& queue, uint32_t count,
                                                                            CommandList* const* lists, const Fence* fence) {
  if (fence || queue.synchronous()) return false;
  const uint64_t version = allocation_changes.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i)
    if (&lists[i]->context() != &queue.context() || !lists[i]->is_allowed(version)) return false;
  return true;
}

[[gnu::always_inline]] inline bool passes_briefly_zeEventHostSynchronize(const Event& event, uint64_t) {
  return is_host_visible(event) && has_host_scope(event);
}

[[gnu::always_inline]] inline bool passes_briefly_zeFenceHostSynchronize(const Fence&, uint64_t) { return true; }

// A thread that waits runs commands itself. With a time limit it looks at the clock and at each kernel's time, so before a wait
// that has none it does that without.
[[gnu::always_inline]] inline void help_endless_wait(Ring& ring, uint64_t timeout) {
  if (timeout == UINT64_MAX && !ring.idle()) help_before_wait(ring, ring.submitted());
}

[[gnu::always_inline]] inline bool passes_briefly_zeCommandQueueSynchronize(const CommandQueue& queue, uint64_t timeout) {
  if (Ring* ring = queue.only_ring()) help_endless_wait(*ring, timeout);
  return true;
}

[[gnu::always_inline]] inline bool passes_briefly_zeCommandListHostSynchronize(const CommandList& list, uint64_t timeout) {
  if (list.immediate()) help_endless_wait(*list.ring(), timeout);
  return true;
}

}  // namespace anyzero
