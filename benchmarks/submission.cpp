// What submission costs a C program: appends, executions, round trips, events, fences, allocations. latency.cpp and bandwidth.cpp
// have the rest. The items' meanings and targets stand in items.py; this program only prints numbers for their keys.
#include <atomic>
#include <thread>

#include "bandwidth.h"
#include "latency.h"
#include "measure.h"
#include "rig.h"

namespace bench {
namespace {

constexpr size_t kSmall = 64;
constexpr uint32_t kCommands = 1000;

ze_command_list_handle_t closed_list(const Rig& rig) {
  ze_command_list_handle_t list = rig.list();
  ok(zeCommandListClose(list));
  return list;
}

void appends(const Rig& rig, const Report& report) {
  ze_command_list_handle_t list = rig.list();
  auto* memory = static_cast<unsigned char*>(rig.memory(2 * kSmall));
  std::vector<ze_event_handle_t> events = rig.events(2);
  auto reset = [&] { ok(zeCommandListReset(list)); };
  report.time_batches(
      "append_copy", kCommands,
      [&] { ok(zeCommandListAppendMemoryCopy(list, memory, memory + kSmall, kSmall, nullptr, 0, nullptr)); }, reset);
  report.time_batches("append_barrier", kCommands, [&] { ok(zeCommandListAppendBarrier(list, nullptr, 0, nullptr)); }, reset);
  report.time_batches(
      "append_copy_events", kCommands,
      [&] { ok(zeCommandListAppendMemoryCopy(list, memory, memory + kSmall, kSmall, events[0], 1, &events[1])); }, reset);
}

void executions(const Rig& rig, const Report& report) {
  ze_command_queue_handle_t queue = rig.queue();
  auto execute = [&](ze_command_list_handle_t& list) {
    ok(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
    ok(zeCommandQueueSynchronize(queue, kForever));
  };

  auto* memory = static_cast<unsigned char*>(rig.memory(2 * kSmall * kCommands));
  ze_command_list_handle_t copies = rig.list();
  for (size_t i = 0; i < kCommands; ++i) {
    unsigned char* pair = memory + 2 * kSmall * i;
    ok(zeCommandListAppendMemoryCopy(copies, pair, pair + kSmall, kSmall, nullptr, 0, nullptr));
  }
  ok(zeCommandListClose(copies));
  report.time("replay_1000", [&] { execute(copies); });

  ze_command_list_handle_t empty = closed_list(rig);
  report.time("execute_empty", [&] { execute(empty); });

  ze_fence_desc_t desc{ZE_STRUCTURE_TYPE_FENCE_DESC, nullptr, 0};
  ze_fence_handle_t fence;
  ok(zeFenceCreate(queue, &desc, &fence));
  report.time("fence_round_trip", [&] {
    ok(zeCommandQueueExecuteCommandLists(queue, 1, &empty, fence));
    ok(zeFenceHostSynchronize(fence, kForever));
    ok(zeFenceReset(fence));
  });
}

// Two threads execute on one queue; the number is the time between two executions that the queue accepted, of whichever thread.
// Only rounds in which they were at it together count: one after the other they would not meet at all.
void two_threads(const Rig& rig, const Report& report) {
  constexpr size_t kEach = 50'000;
  ze_command_queue_handle_t queue = rig.queue();
  ze_command_list_handle_t lists[2] = {closed_list(rig), closed_list(rig)};
  report.time_rounds("two_thread_execute", 2 * kEach, [&] {
    std::atomic<int> here{0};
    double begin[2], end[2];
    auto submit = [&](int me) {
      here.fetch_add(1);
      while (here.load() < 2) std::this_thread::yield();
      begin[me] = now_ns();
      for (size_t i = 0; i < kEach; ++i) ok(zeCommandQueueExecuteCommandLists(queue, 1, &lists[me], nullptr));
      end[me] = now_ns();
    };
    std::thread other(submit, 1);
    submit(0);
    other.join();
    ok(zeCommandQueueSynchronize(queue, kForever));
    double whole = now_ns() - std::min(begin[0], begin[1]);
    double together = std::min(end[0], end[1]) - std::max(begin[0], begin[1]);
    return together < 0.8 * whole ? 0 : whole / (2 * kEach);
  });
}

void immediate(const Rig& rig, const Report& report) {
  auto* memory = static_cast<unsigned char*>(rig.memory(2 * kSmall));
  std::vector<ze_event_handle_t> events = rig.events(2);
  ze_command_list_handle_t list = rig.immediate(rig.compute, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  ze_command_list_handle_t synchronous = rig.immediate(rig.compute, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  auto copy = [&](ze_command_list_handle_t to) {
    ok(zeCommandListAppendMemoryCopy(to, memory, memory + kSmall, kSmall, nullptr, 0, nullptr));
  };

  report.time("immediate_round_trip", [&] {
    ok(zeCommandListAppendBarrier(list, events[0], 0, nullptr));
    ok(zeEventHostSynchronize(events[0], kForever));
    ok(zeEventHostReset(events[0]));
  });
  report.time("immediate_copy_wait", [&] {
    copy(list);
    ok(zeCommandListHostSynchronize(list, kForever));
  });
  report.time("synchronous_copy", [&] { copy(synchronous); });
  report.time("immediate_append", [&] { copy(list); });
  ok(zeCommandListHostSynchronize(list, kForever));

  // Behind a wait nothing can run at once, so this is the cost of queueing alone.
  auto hold = [&] { ok(zeCommandListAppendWaitOnEvents(list, 1, &events[1])); };
  hold();
  report.time_batches(
      "immediate_queued", kCommands, [&] { copy(list); },
      [&] {
        ok(zeEventHostSignal(events[1]));
        ok(zeCommandListHostSynchronize(list, kForever));
        ok(zeEventHostReset(events[1]));
        hold();
      });
  ok(zeEventHostSignal(events[1]));
  ok(zeCommandListHostSynchronize(list, kForever));
}

void event_calls(const Rig& rig, const Report& report) {
  ze_event_pool_handle_t pool = rig.pool(2);
  ze_event_handle_t event = Rig::event(pool, 0);
  report.time("event_signal", [&] { ok(zeEventHostSignal(event)); });
  ok(zeEventHostSignal(event));
  report.time("event_query", [&] { ok(zeEventQueryStatus(event)); });
  report.time("event_reset", [&] { ok(zeEventHostReset(event)); });
  report.time("event_create", [&] { ok(zeEventDestroy(Rig::event(pool, 1))); });
}

// The compute and the copy engine answer each other through events, without the host between: lists recorded once.
void engine_round_trip(const Rig& rig, const Report& report) {
  constexpr uint32_t kTrips = 500;
  std::vector<ze_event_handle_t> there = rig.events(kTrips), back = rig.events(kTrips);
  ze_command_list_handle_t compute = rig.list(rig.compute), copy = rig.list(rig.copy);
  for (uint32_t i = 0; i < kTrips; ++i) {
    ok(zeCommandListAppendBarrier(compute, there[i], 0, nullptr));
    ok(zeCommandListAppendBarrier(copy, back[i], 1, &there[i]));
    ok(zeCommandListAppendBarrier(compute, nullptr, 1, &back[i]));
  }
  ok(zeCommandListClose(compute));
  ok(zeCommandListClose(copy));
  ze_command_queue_handle_t compute_queue = rig.queue(rig.compute), copy_queue = rig.queue(rig.copy);
  report.time_rounds("engine_round_trip", kTrips, [&] {
    double begin = now_ns();
    ok(zeCommandQueueExecuteCommandLists(copy_queue, 1, &copy, nullptr));
    ok(zeCommandQueueExecuteCommandLists(compute_queue, 1, &compute, nullptr));
    ok(zeEventHostSynchronize(back.back(), kForever));
    double took = now_ns() - begin;
    ok(zeCommandQueueSynchronize(compute_queue, kForever));
    ok(zeCommandQueueSynchronize(copy_queue, kForever));
    for (uint32_t i = 0; i < kTrips; ++i) {
      ok(zeEventHostReset(there[i]));
      ok(zeEventHostReset(back[i]));
    }
    return took / kTrips;
  });
}

void allocations(const Rig& rig, const Report& report) {
  report.time("alloc_4k", [&] { rig.free(rig.memory(4 << 10)); });
  report.time("alloc_64m", [&] { rig.free(rig.memory(64 << 20)); });
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Report report(argc, argv);
  bench::Rig rig;
  bench::appends(rig, report);
  bench::executions(rig, report);
  bench::immediate(rig, report);
  bench::event_calls(rig, report);
  bench::two_threads(rig, report);
  bench::engine_round_trip(rig, report);
  bench::allocations(rig, report);
  bench::latency(rig, report);
  bench::bandwidth(rig, report);
  return 0;
}
