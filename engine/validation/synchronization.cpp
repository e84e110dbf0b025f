// Objects that commands still use, and waits that never end.
#include "../abi/handle.h"
#include "../check/finding.h"
#include "../exec/bounds.h"
#include "../objects/commands/command_list.h"
#include "../objects/commands/command_queue.h"
#include "../objects/devices/driver.h"
#include "../objects/images/image.h"
#include "../objects/sync/event.h"
#include "../objects/sync/fence.h"
#include "command_use.h"
#include "commands.h"
#include "hooks.h"
#include "host_scope.h"
#include "initialization.h"
#include "known_memory.h"
#include "races.h"
#include "waits.h"

namespace anyzero {

namespace {

// `unmanaged`: not where the language of the program destroys by itself what it has made.
void report_use(Rule rule, const char* message, const std::string& use, bool unmanaged = false) {
  if (use.empty()) return;
  const CallPlace at;
  if (unmanaged && at.managed) return;
  const uint64_t place = at.number;
  if (!seen(rule, place)) report({rule, place, message, "", "", "", "", use});
}

void check_event(ze_event_handle_t handle, Rule rule, const char* message) {
  auto* event = checked<Event>(handle);
  if (event && !event->counts() && is_checked(kCheckSync)) report_use(rule, message, use_of(*event));
}

void check_fence(ze_fence_handle_t handle, const char* message, bool unmanaged = false) {
  auto* fence = checked<Fence>(handle);
  if (fence && is_checked(kCheckSync)) report_use(Rule::FenceInUse, message, use_of(*fence), unmanaged);
}

void check_list(ze_command_list_handle_t handle, const char* message, bool unmanaged = false) {
  auto* list = checked<CommandList>(handle);
  if (!list || !is_checked(kCheckSync)) return;
  if (list->immediate()) {
    report_use(Rule::ListInUse, message, unfinished(*list->ring()));
  } else {
    report_use(Rule::ListInUse, message, use_of(list->program(), list->context().driver()), unmanaged);
  }
}

void check_executed(const CommandQueue& queue, const CommandList& list) {
  if (!is_checked(kCheckStrict) || &queue.context() == &list.context()) return;
  const uint64_t place = CallPlace().number;
  if (!seen(Rule::OtherContext, place))
    report({Rule::OtherContext, place, "a queue executes a command list of another context", "", "", "", "", ""});
}

// Memory was checked when each command was appended; it may have been freed since.
void check_freed(CommandList& list) {
  const uint64_t version = allocation_changes.load(std::memory_order_relaxed);
  if (!is_checked(kCheckMemory) || list.immediate() || list.is_allowed(version)) return;
  CommandUse use;
  bool freed = false;
  each_of(list.program(), [&](const Packet& packet) {
    use.clear();
    if (packet.op == Op::Launch) {
      add_group_counts(use, static_cast<const LaunchPacket&>(packet));  // kernels check their own accesses
    } else {
      read_command_use(packet, nullptr, use);
    }
    for (const Span& span : use.spans) {
      if (!known_memory(reinterpret_cast<const void*>(span.begin)).freed) continue;
      freed = true;
      const uint64_t place = CallPlace().number;
      if (seen(Rule::UseAfterFree, place)) continue;
      char command[256];
      describe(packet, command, sizeof command);
      report({Rule::UseAfterFree, place, std::string("a list is executed whose memory has been freed: ") + command, "", "", "",
              memory_at(span.begin), ""});
    }
  });
  if (!freed) list.note_allowed(version);
}

// A wait without an end in sight; shorter ones end by themselves.
bool endless(uint64_t timeout) { return timeout == UINT64_MAX && is_checked(kCheckSync); }

}  // namespace

void before_zeImageDestroy(ze_image_handle_t handle) {
  auto* image = checked<Image>(handle);
  if (image && is_checked(kCheckSync))
    report_use(Rule::MemoryFreedInUse, "an image is destroyed while a command still uses it",
               use_of(*image, image->context().driver()), true);
  forget_image(handle);
}

void before_zeEventHostReset(ze_event_handle_t event) {
  check_host_visible(event);
  check_event(event, Rule::EventResetInUse, "an event is reset while a command still uses it");
  note_reset(checked<Event>(event));
}

void before_zeEventDestroy(ze_event_handle_t event) {
  check_event(event, Rule::EventDestroyedInUse, "an event is destroyed while a command still uses it");
  forget_results(event);
  note_destroyed(checked<Event>(event));
}

void before_zeFenceReset(ze_fence_handle_t fence) {
  check_fence(fence, "a fence is reset before its queue has signalled it");
  note_reset(checked<Fence>(fence));
}

void before_zeFenceDestroy(ze_fence_handle_t fence) {
  check_fence(fence, "a fence is destroyed before its queue has signalled it", true);
  note_destroyed(checked<Fence>(fence));
}

void before_zeCommandListReset(ze_command_list_handle_t list) {
  check_list(list, "a command list is reset while a queue still executes it");
}

void before_zeCommandListDestroy(ze_command_list_handle_t list) {
  check_list(list, "a command list is destroyed while a queue still executes it", true);
}

void before_zeCommandQueueDestroy(ze_command_queue_handle_t handle) {
  auto* queue = checked<CommandQueue>(handle);
  if (!queue || !is_checked(kCheckSync)) return;
  for (Ring* ring : queue->rings())
    report_use(Rule::QueueDestroyedInUse, "a queue is destroyed while it still has commands to execute", unfinished(*ring));
}

void before_zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t queue_handle, uint32_t count,
                                              ze_command_list_handle_t* lists, ze_fence_handle_t handle) {
  auto* queue = checked<CommandQueue>(queue_handle);
  for (uint32_t i = 0; queue && lists && i < count; ++i)
    if (auto* list = checked<CommandList>(lists[i])) {
      check_executed(*queue, *list);
      check_freed(*list);
    }
  auto* fence = checked<Fence>(handle);
  if (!fence || !is_checked(kCheckSync)) return;
  const std::string use = use_of(*fence);
  if (use.empty() && fence->signal().state(1) == Signal::State::Reached) {
    report_use(Rule::FenceInUse, "a queue gets a fence that is already signalled", "an earlier execution signalled it");
  } else {
    report_use(Rule::FenceInUse, "a queue gets a fence that another execution has not signalled yet", use);
  }
}

ze_result_t before_zeEventHostSynchronize(ze_event_handle_t handle, uint64_t timeout) {
  check_host_visible(handle);
  auto* event = checked<Event>(handle);
  if (!event || !endless(timeout) || event->capture()) return ZE_RESULT_SUCCESS;
  Awaiting what{event, 0, 0, event->shared()};
  if (event->counts()) {
    const Point point = event->counting_point();
    if (!point.ring) return ZE_RESULT_SUCCESS;
    what = {nullptr, point.ring->number(), point.position, event->shared()};
    point.ring->release();
  }
  return wait_if_it_can_end(event->driver(), what, [&](uint64_t time) { return event->hostSynchronize(time); });
}

ze_result_t before_zeFenceHostSynchronize(ze_fence_handle_t handle, uint64_t timeout) {
  auto* fence = checked<Fence>(handle);
  if (!fence || !endless(timeout)) return ZE_RESULT_SUCCESS;
  return wait_if_it_can_end(fence->queue().context().driver(), {fence},
                            [&](uint64_t time) { return fence->hostSynchronize(time); });
}

ze_result_t before_zeCommandQueueSynchronize(ze_command_queue_handle_t handle, uint64_t timeout) {
  auto* queue = checked<CommandQueue>(handle);
  if (!queue || !endless(timeout)) return ZE_RESULT_SUCCESS;
  for (Ring* ring : queue->rings()) {
    const uint64_t position = ring->submitted();
    const Awaiting what{nullptr, ring->number(), position};
    if (ze_result_t r =
            wait_if_it_can_end(queue->context().driver(), what, [&](uint64_t time) { return ring->wait(position, time); }))
      return r;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t before_zeCommandListHostSynchronize(ze_command_list_handle_t handle, uint64_t timeout) {
  auto* list = checked<CommandList>(handle);
  if (!list || !list->immediate() || !endless(timeout)) return ZE_RESULT_SUCCESS;
  Ring* ring = list->ring();
  const uint64_t position = ring->submitted();
  return wait_if_it_can_end(list->context().driver(), {nullptr, ring->number(), position},
                            [&](uint64_t time) { return ring->wait(position, time); });
}

}  // namespace anyzero
