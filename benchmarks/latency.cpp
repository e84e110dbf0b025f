// What a command costs on an immediate list and on a regular one: submission, waiting, barriers, events. Both ways take turns, one
// round each, so that the ratio of a row compares rounds of the same moment.
#include "latency.h"

namespace bench {
namespace {

constexpr size_t kSmall = 64;
constexpr uint32_t kChain = 100;  // commands of one round where a chain is measured

struct Scene {
  const Rig& rig;
  const Report& report;
  unsigned char* memory;
  std::vector<ze_event_handle_t> events;
  ze_command_list_handle_t immediate;
  ze_command_queue_handle_t queue;
  ze_command_list_handle_t list;

  Scene(const Rig& rig, const Report& report)
      : rig(rig),
        report(report),
        memory(static_cast<unsigned char*>(rig.memory(2 * kSmall))),
        events(rig.events(2)),
        immediate(rig.immediate(rig.compute, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS)),
        queue(rig.queue()),
        list(rig.list()) {}

  void copy(ze_command_list_handle_t to, ze_event_handle_t signal = nullptr, ze_event_handle_t wait = nullptr) const {
    ok(zeCommandListAppendMemoryCopy(to, memory, memory + kSmall, kSmall, signal, wait ? 1 : 0, wait ? &wait : nullptr));
  }
  void execute(ze_command_list_handle_t which) const { ok(zeCommandQueueExecuteCommandLists(queue, 1, &which, nullptr)); }
  void finish() const { ok(zeCommandQueueSynchronize(queue, kForever)); }
  void finish_immediate() const { ok(zeCommandListHostSynchronize(immediate, kForever)); }
  void reset(ze_event_handle_t event) const { ok(zeEventHostReset(event)); }
  void wait(ze_event_handle_t event) const { ok(zeEventHostSynchronize(event, kForever)); }

  // The regular list, recorded once by `record`, for as long as the next scenario does not record another.
  template <class Record>
  ze_command_list_handle_t recorded(Record record) const {
    ok(zeCommandListReset(list));
    record(list);
    ok(zeCommandListClose(list));
    return list;
  }
};

void creation(const Scene& scene) {
  const Rig& rig = scene.rig;
  scene.report.turns({
      {"create_immediate", 200, [&] { ok(zeCommandListDestroy(rig.immediate(rig.compute, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS))); }},
      {"create_regular", 200,
       [&] {
         ok(zeCommandListDestroy(rig.list()));
         ok(zeCommandQueueDestroy(rig.queue()));
       }},
  });
}

// The calls alone: whatever they started is waited for after the round. So a regular list is needed for each.
void submission(const Scene& scene) {
  std::vector<ze_command_list_handle_t> lists;
  if (scene.report.wanted("submit_regular"))
    for (uint32_t i = 0; i < kChain; ++i) lists.push_back(scene.rig.list());
  size_t next = 0;
  scene.report.turns({
      {"submit_immediate", kChain, [&] { scene.copy(scene.immediate); }, [&] { scene.finish_immediate(); }},
      {"submit_regular", kChain,
       [&] {
         ze_command_list_handle_t list = lists[next++ % kChain];
         ok(zeCommandListReset(list));
         scene.copy(list);
         ok(zeCommandListClose(list));
         scene.execute(list);
       },
       [&] { scene.finish(); }},
  });
  for (ze_command_list_handle_t list : lists) ok(zeCommandListDestroy(list));
}

// Submitted and waited for, one after the other.
void round_trips(const Scene& scene) {
  scene.report.turns({
      {"wait_immediate", 1000,
       [&] {
         scene.copy(scene.immediate);
         scene.finish_immediate();
       }},
      {"wait_regular", 1000,
       [&] {
         scene.execute(scene.recorded([&](auto list) { scene.copy(list); }));
         scene.finish();
       }},
  });
}

// Chains of copies with a barrier behind each, waited for once.
void barriers(const Scene& scene) {
  auto chain = [&](ze_command_list_handle_t list) {
    for (uint32_t i = 0; i < kChain; ++i) {
      scene.copy(list);
      ok(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
    }
  };
  scene.report.turns({
      {"barrier_immediate",
       10,
       [&] {
         chain(scene.immediate);
         scene.finish_immediate();
       },
       {},
       kChain},
      {"barrier_regular",
       10,
       [&] {
         scene.execute(scene.recorded(chain));
         scene.finish();
       },
       {},
       kChain},
  });
}

void event_latencies(const Scene& scene) {
  ze_event_handle_t begin = scene.events[0], end = scene.events[1];

  // From a command to the host.
  ze_command_list_handle_t list = scene.recorded([&](auto to) { scene.copy(to, end); });
  auto after = [&] {
    scene.wait(end);
    scene.reset(end);
  };
  scene.report.turns({
      {"event_to_host_immediate", 1000,
       [&] {
         scene.copy(scene.immediate, end);
         after();
       }},
      {"event_to_host_regular", 1000,
       [&] {
         scene.execute(list);
         after();
       }},
  });

  // From the host to a command that has been submitted already, and back.
  list = scene.recorded([&](auto to) { scene.copy(to, end, begin); });
  auto there_and_back = [&] {
    ok(zeEventHostSignal(begin));
    after();
    scene.reset(begin);
  };
  scene.report.turns({
      {"event_from_host_immediate", 200,
       [&] {
         scene.copy(scene.immediate, end, begin);
         there_and_back();
       }},
      {"event_from_host_regular", 200,
       [&] {
         scene.execute(list);
         there_and_back();
       }},
  });

  // From command to command of one list: each waits for the event of the one before.
  std::vector<ze_event_handle_t> links = scene.rig.events(kChain);
  auto chain = [&](ze_command_list_handle_t to) {
    for (uint32_t i = 0; i < kChain; ++i) scene.copy(to, links[i], i ? links[i - 1] : nullptr);
  };
  auto reset = [&] {
    for (ze_event_handle_t link : links) scene.reset(link);
  };
  scene.report.turns({
      {"event_chain_immediate", 1,
       [&] {
         chain(scene.immediate);
         scene.wait(links.back());
       },
       reset, kChain},
      {"event_chain_regular", 1,
       [&] {
         scene.execute(scene.recorded(chain));
         scene.wait(links.back());
       },
       reset, kChain},
  });
}

}  // namespace

void latency(const Rig& rig, const Report& report) {
  Scene scene(rig, report);
  creation(scene);
  submission(scene);
  round_trips(scene);
  barriers(scene);
  event_latencies(scene);
}

}  // namespace bench
