#include "races.h"

#include <unordered_map>
#include <vector>

#include "../abi/handle.h"
#include "../check/finding.h"
#include "../exec/bounds.h"
#include "../exec/submission.h"
#include "../objects/commands/command_list.h"
#include "../objects/commands/command_queue.h"
#include "../objects/devices/device.h"
#include "../objects/devices/driver.h"
#include "../objects/memory/allocation.h"
#include "../objects/sync/event.h"
#include "../objects/sync/fence.h"
#include "../system/mutex.h"
#include "command_order.h"
#include "commands.h"
#include "device_scope.h"
#include "early_reads.h"
#include "hooks.h"

namespace anyzero {

namespace {

struct Watch {
  uint64_t session = 0;
  CommandOrder order;
  CommandUse use;                                                             // of the command that is being submitted
  std::unordered_map<const Program*, std::vector<const CallSite*>> recorded;  // by the index of the command
};

Guarded<Watch>& watch_of_commands() {
  static auto* one = new Guarded<Watch>;  // leaked: commands may be submitted while the process exits
  return *one;
}

thread_local const CallSite* append_site = nullptr;
thread_local bool append_in_order = true;  // of the immediate list that is appended to
// Set where a race was found that is not reported yet: reports need locks that an append holds.
constinit std::atomic<bool> found_races{false};

// Calls `change` with the order of commands, if races are looked for and the order is known.
template <class F>
void with_order(F&& change) {
  if (!follows_commands()) return;
  auto watch = watch_of_commands().open();
  const uint64_t session = check_sessions.load(std::memory_order_relaxed);
  if (watch->session != session) {
    *watch = {};
    watch->session = session;
  }
  if (watch->order.lost()) return;
  change(*watch);
  if (watch->order.has_races()) found_races.store(true, std::memory_order_relaxed);
}

// Whether a command separates those in front of it from those behind it, in a list that is not in order. Others only begin in
// their order; so what one waits for is there for the next ones, too, but its end says nothing about those in front of it. What
// the specification leaves open counts as a barrier.
bool separates(const Packet& packet) {
  switch (packet.op) {
    case Op::Copy:
    case Op::Fill:
    case Op::CopyBoxes:
    case Op::Launch:
    case Op::Timestamp:
    case Op::QueryTimestamps:
    case Op::Reset:
    case Op::Prefetch:
    case Op::Advise:
      return false;
    case Op::Barrier:
      return !packet.n_waits;  // one with events waits for them alone
    default:
      return true;
  }
}

class Submitter {
 public:
  Submitter(Watch& watch, Ring& ring, uint64_t before)
      : watch_(watch), ring_(ring), done_(ring.completed().value.load(std::memory_order_acquire)), position_(before) {}

  // Submits the command that is in `use`. It is behind so many of the ring; `separates`: behind all, and in front of all others.
  void submit(const CallSite* site, uint64_t behind, bool separates) {
    CommandUse& use = watch_.use;
    use.device = &ring_.device();
    use.card = &ring_.device().root();
    use.name.ring = ring_.number();
    use.name.position = ++position_;
    use.name.site = site;
    use.behind = separates ? position_ - 1 : behind;
    use.blocks = separates;
    std::erase_if(use.waits, [&](const CommandWait& wait) { return wait.event && signalled_before(wait.event); });
    if (!watch_.order.lost()) watch_.order.submit(use, done_);
    if (is_checked(kCheckRaces)) results_.add(use);
  }
  void submit(const Packet& packet, const CallSite* site, bool in_order) {
    read_command_use(packet, nullptr, watch_.use);
    submit(site, 0, in_order || separates(packet));
  }
  void submit_all(const ExecutePacket& packet) {
    const WaitFor* targets = const_cast<ExecutePacket&>(packet).targets();
    CommandUse whole;
    read_command_use(packet, nullptr, whole);
    for (uint32_t i = 0; i < packet.count; ++i) submit_program(*packet.programs()[i], &targets, &whole.waits);
    std::swap(watch_.use, whole);
    submit(nullptr, position_, true);
  }
  void submit(Fence* fence) {
    watch_.use.clear();
    watch_.use.signals = fence;
    watch_.use.scopes = ZE_EVENT_SCOPE_FLAG_HOST;
    submit(nullptr, position_, true);
  }
  // Results of what was submitted, which the host may read too early.
  void hold(uint64_t before) { results_.hold(ring_, before, position_); }

 private:
  // Signalled, but not since the checks began.
  bool signalled_before(const void* event) const {
    return !watch_.order.knows(event) && static_cast<const Event*>(event)->signal().state(1) == Signal::State::Reached;
  }
  // `waits`: of the whole execution, for its first command.
  void submit_program(Program& program, const WaitFor** targets, std::vector<CommandWait>* waits) {
    const auto found = watch_.recorded.find(&program);
    const uint64_t begin = position_;  // a list is behind all that its queue got before
    uint64_t index = 0;
    each_of(program, [&](const Packet& packet) {
      CommandUse& use = watch_.use;
      read_command_use(packet, targets, use);
      use.waits.insert(use.waits.end(), waits->begin(), waits->end());
      waits->clear();
      const bool known = found != watch_.recorded.end() && index < found->second.size();
      const CallSite* site = known ? found->second[index] : nullptr;
      ++index;
      submit(site, begin, program.in_order() || separates(packet));
    });
  }

  Watch& watch_;
  Ring& ring_;
  const uint64_t done_;
  uint64_t position_;
  AwaitedResults results_;
};

void observe(Ring& ring, const Packet& packet, uint64_t before, Fence* fence) {
  with_order([&](Watch& watch) {
    CommandOrder& order = watch.order;
    try {
      if (order.submitted(ring.number(), before) != before) return order.lose_track();
      Submitter to(watch, ring, before);
      if (packet.op == Op::Execute) {
        to.submit_all(static_cast<const ExecutePacket&>(packet));
      } else {
        to.submit(packet, append_site, append_in_order);
      }
      if (fence) to.submit(fence);
      to.hold(before);
    } catch (...) {
      order.lose_track();
    }
  });
}

[[gnu::constructor]] void watch_submissions() { submission_observer.store(observe); }

const char* why_unordered(const Race& race, bool one_list) {
  if (race.reused) return ", and the event for which the second waits was signalled before, and not reset since";
  if (race.passed) return ", and the barrier between them waits for its events alone, not for the first";
  return one_list ? ", and nothing makes the second wait: their list is not in order" : ", and nothing orders the two";
}

void report_race(const Race& race) {
  if (race.ordered) return report_invisible(race);
  if (!is_checked(kCheckRaces)) return;
  const CallSite *first = race.before.command.site, *second = race.after.command.site;
  const uint64_t place = (first ? first->number : 1) * 31 + (second ? second->number : 1);
  // One ring: one list, as each list is behind the one before.
  const bool one_list = race.before.command.ring == race.after.command.ring;
  const Rule rule = one_list ? Rule::MissingBarrier : Rule::CommandRace;
  if (seen(rule, place)) return;
  const std::string message = race.after.command.text() + (race.after.writes ? " writes" : " reads") + " memory that " +
                              race.before.command.text() + (race.before.writes ? " writes" : " reads") +
                              why_unordered(race, one_list);
  char where[256];
  describe_address(race.address, where, sizeof where);
  Finding finding{rule, place, message, "", "", "", where, "the first: " + race.before.text()};
  finding.memory += where_made(reinterpret_cast<const void*>(race.address));
  if (second) {
    finding.call = second->call;
    finding.caller = second->caller;
  }
  report(std::move(finding));
}

void report_races() {
  if (!found_races.load(std::memory_order_relaxed)) return;
  found_races.store(false, std::memory_order_relaxed);
  std::vector<Race> races;
  with_order([&](Watch& watch) { races = watch.order.take_races(); });
  for (const Race& race : races) report_race(race);
}

// A wait has failed because a queue is lost: commands of lost queues will not run.
void saw_lost(Driver& driver) {
  std::vector<uint64_t> lost;
  each_ring(driver, [&](const Ring& ring) {
    if (ring.lost()) lost.push_back(ring.number());
  });
  with_order([&](Watch& watch) {
    for (uint64_t number : lost) watch.order.host_saw_lost(number);
  });
}

// After a wait for a ring.
void saw_ring(ze_result_t result, Ring& ring, Driver& driver) {
  if (result == ZE_RESULT_ERROR_DEVICE_LOST) return saw_lost(driver);
  if (result != ZE_RESULT_SUCCESS) return;
  const uint64_t done = ring.completed().value.load(std::memory_order_acquire);
  with_order([&](Watch& watch) { watch.order.host_saw(ring.number(), done); });
}

void saw_fence(ze_result_t result, ze_fence_handle_t handle) {
  auto* fence = checked<Fence>(handle);
  if (!fence || !follows_commands()) return;
  if (result == ZE_RESULT_ERROR_DEVICE_LOST) saw_lost(fence->queue().context().driver());
  if (result == ZE_RESULT_SUCCESS) with_order([&](Watch& watch) { watch.order.host_saw(fence); });
}

}  // namespace

void note_append(const CommandList& list) {
  const CallSite* site = current_call_site();
  append_site = site;
  append_in_order = list.in_order();
  if (list.immediate()) return;
  with_order([&](Watch& watch) {
    std::vector<const CallSite*>& sites = watch.recorded[&list.program()];
    sites.resize(list.program().count());
    sites.push_back(site);
  });
}

void note_event_seen(ze_result_t result, ze_event_handle_t handle) {
  if (!follows_commands()) return;
  auto* event = checked<Event>(handle);
  if (!event) return;
  if (result == ZE_RESULT_ERROR_DEVICE_LOST) saw_lost(event->driver());
  if (result != ZE_RESULT_SUCCESS) return;
  if (!event->counts()) return with_order([&](Watch& watch) { watch.order.host_saw(event); });
  const Point point = event->counting_point();
  if (!point.ring) return;
  with_order([&](Watch& watch) { watch.order.host_saw(point.ring->number(), point.position); });
  point.ring->release();
}

void note_host_signal(ze_event_handle_t handle) {
  if (auto* event = checked<Event>(handle)) with_order([&](Watch& watch) { watch.order.host_signals(event); });
  report_races();
}

void note_reset(const void* object) {
  if (object) with_order([&](Watch& watch) { watch.order.resets(object); });
}

void note_destroyed(const void* object) {
  if (object) with_order([&](Watch& watch) { watch.order.forget(object); });
}

std::string unseen_use(const MemoryRange& memory) {
  std::string found;
  if (!is_checked(kCheckRaces)) return found;
  with_order([&](Watch& watch) {
    if (const LoggedAccess* access = watch.order.unseen(memory.begin, memory.end)) found = access->text();
  });
  return found;
}

void note_freed(const MemoryRange& memory) {
  with_order([&](Watch& watch) { watch.order.forget(memory.begin, memory.end); });
}

void note_appended(ze_command_list_handle_t handle) {
  append_site = nullptr;
  append_in_order = true;
  report_races();
  auto* list = checked<CommandList>(handle);
  ze_command_queue_mode_t mode;
  if (!list || !list->immediate() || list->immediateGetMode(&mode) != ZE_RESULT_SUCCESS) return;
  if (mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS) saw_ring(ZE_RESULT_SUCCESS, *list->ring(), list->context().driver());
}

void after_zeCommandQueueExecuteCommandLists(ze_result_t, ze_command_queue_handle_t handle, uint32_t, ze_command_list_handle_t*,
                                             ze_fence_handle_t) {
  if (!follows_commands()) return;
  report_races();
  auto* queue = checked<CommandQueue>(handle);
  ze_command_queue_mode_t mode;
  if (!queue || queue->getMode(&mode) != ZE_RESULT_SUCCESS || mode != ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS) return;
  for (Ring* ring : queue->rings()) saw_ring(ZE_RESULT_SUCCESS, *ring, queue->context().driver());
}

void after_zeEventQueryKernelTimestamp(ze_result_t result, ze_event_handle_t event, ze_kernel_timestamp_result_t*) {
  note_event_seen(result, event);
}
void after_zeFenceHostSynchronize(ze_result_t result, ze_fence_handle_t fence, uint64_t) { saw_fence(result, fence); }
void after_zeFenceQueryStatus(ze_result_t result, ze_fence_handle_t fence) { saw_fence(result, fence); }

void after_zeCommandQueueSynchronize(ze_result_t result, ze_command_queue_handle_t handle, uint64_t) {
  auto* queue = checked<CommandQueue>(handle);
  if (!queue || !follows_commands()) return;
  for (Ring* ring : queue->rings()) saw_ring(result, *ring, queue->context().driver());
}

void after_zeDeviceSynchronize(ze_result_t result, ze_device_handle_t handle) {
  auto* device = checked<Device>(handle);
  if (result != ZE_RESULT_SUCCESS || !device) return;
  with_order([&](Watch& watch) {
    // Some of the rings may be gone.
    watch.order.host_saw_all([&](const void* each) { return static_cast<const Device*>(each)->is_or_is_tile_of(*device); });
  });
}

void after_zeCommandListHostSynchronize(ze_result_t result, ze_command_list_handle_t handle, uint64_t) {
  auto* list = checked<CommandList>(handle);
  if (list && list->immediate() && follows_commands()) saw_ring(result, *list->ring(), list->context().driver());
}

}  // namespace anyzero
