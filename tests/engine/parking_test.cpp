// Queues that wait: more of them than one sleep can watch, woken in any order, by hosts, by devices, and by counters.
#include "scene.h"

using namespace scene;

namespace {

// Each list waits for its own gate; the gates open in a random order, from several threads.
void more_than_a_sleep_can_watch(Scene& scene) {
  constexpr uint32_t kLists = 200;
  auto gates = scene.events(kLists), done = scene.events(kLists);
  std::vector<ze_command_list_handle_t> lists;
  unsigned char* row = scene.memory(kLists);
  std::memset(row, 0, kLists);
  for (uint32_t i = 0; i < kLists; ++i) {
    lists.push_back(scene.immediate(i % 2));
    fill(lists[i], row + i, 1, 1, done[i], {gates[i]});
  }
  await_sleep_of_others();
  std::vector<uint32_t> order(kLists);
  for (uint32_t i = 0; i < kLists; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(5));
  threads(4, [&](int index) {
    for (uint32_t i = static_cast<uint32_t>(index); i < kLists; i += 4) {
      OK(zeEventHostSignal(gates[order[i]]));
      OK(zeEventHostSynchronize(done[order[i]], kSoon));
    }
  });
  assert(all(row, 1, kLists));
  for (uint32_t i = 0; i < kLists; ++i) {
    OK(zeCommandListDestroy(lists[i]));
    OK(zeEventDestroy(gates[i]));
    OK(zeEventDestroy(done[i]));
  }
  scene.free(row);
}

// One gate holds them all: the last signal wakes every queue, in every round.
void one_gate_for_all(Scene& scene) {
  constexpr uint32_t kLists = 100;
  auto gate = scene.events(1)[0];
  std::vector<ze_command_list_handle_t> lists;
  for (uint32_t i = 0; i < kLists; ++i) lists.push_back(scene.immediate(i % 2));
  for (int round = 0; round < 10; ++round) {
    for (ze_command_list_handle_t list : lists) barrier(list, nullptr, {gate});
    if (round % 2) sleep_ms(2);
    OK(zeEventHostSignal(gate));
    for (ze_command_list_handle_t list : lists) OK(zeCommandListHostSynchronize(list, kSoon));
    OK(zeEventHostReset(gate));
  }
  for (ze_command_list_handle_t list : lists) OK(zeCommandListDestroy(list));
  OK(zeEventDestroy(gate));
}

// A counter goes around between two engines; each append re-arms it, each wait keeps the value it saw.
void counters(Scene& scene) {
  ze_event_handle_t ball[2] = {scene.counter(), scene.counter()};
  ze_command_list_handle_t lists[2] = {scene.immediate(kCompute), scene.immediate(kCopy)};
  constexpr int kRounds = 500;
  unsigned char* row = scene.memory(2 * kRounds + 1);
  std::memset(row, 0, 2 * kRounds + 1);
  row[0] = 7;
  for (int i = 0; i < kRounds; ++i) {
    copy(lists[0], row + 2 * i + 1, row + 2 * i, 1, ball[0], {ball[1]});
    copy(lists[1], row + 2 * i + 2, row + 2 * i + 1, 1, ball[1], {ball[0]});
  }
  OK(zeEventHostSynchronize(ball[1], kSoon));
  assert(all(row, 7, 2 * kRounds + 1));
  // Signalled by recorded lists on two queues at once: complete when all that was submitted is.
  ze_command_queue_handle_t queues[2] = {scene.queue(kCompute), scene.queue(kCompute)};
  ze_command_list_handle_t recorded = scene.list(kCompute);
  for (int i = 0; i < 20; ++i) barrier(recorded, nullptr);
  barrier(recorded, ball[0]);
  OK(zeCommandListClose(recorded));
  for (int i = 0; i < 200; ++i) OK(zeCommandQueueExecuteCommandLists(queues[i % 2], 1, &recorded, nullptr));
  OK(zeEventHostSynchronize(ball[0], kSoon));
  for (auto queue : queues) {
    OK(zeCommandQueueSynchronize(queue, kSoon));
    OK(zeCommandQueueDestroy(queue));
  }
  OK(zeCommandListDestroy(recorded));
  for (int i : {0, 1}) {
    OK(zeCommandListDestroy(lists[i]));
    OK(zeEventDestroy(ball[i]));
  }
  scene.free(row);
}

// Hosts that sleep on events, with and without a deadline, while others signal and reset them.
void sleeping_hosts(Scene& scene) {
  auto events = scene.events(4);
  std::atomic<int> woken{0}, late{0};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 16; ++i) {
    waiters.emplace_back([&, i] {
      ze_result_t result = zeEventHostSynchronize(events[static_cast<size_t>(i % 4)], i < 8 ? UINT64_MAX : kSecond / 50);
      if (result == ZE_RESULT_SUCCESS) ++woken;
      if (result == ZE_RESULT_NOT_READY) ++late;
    });
  }
  for (size_t i = 8; i < 16; ++i) waiters[i].join();
  waiters.resize(8);
  await_sleep_of_others();
  assert(woken == 0);
  for (ze_event_handle_t event : events) OK(zeEventHostSignal(event));
  for (std::thread& waiter : waiters) waiter.join();
  assert(woken == 8 && late == 8);
  // A ping-pong of two sleeping threads: no wake may get lost.
  for (ze_event_handle_t event : events) OK(zeEventHostReset(event));
  threads(2, [&](int side) {
    ze_event_handle_t mine = events[static_cast<size_t>(side)], other = events[static_cast<size_t>(1 - side)];
    for (int i = 0; i < 1000; ++i) {
      if (side == 0) OK(zeEventHostSignal(other));
      OK(zeEventHostSynchronize(mine, kSoon));
      OK(zeEventHostReset(mine));
      if (side == 1) OK(zeEventHostSignal(other));
    }
  });
  for (ze_event_handle_t event : events) OK(zeEventDestroy(event));
}

// A queue whose wait is replaced by another wait, over and over, while hosts look at it, help it and give up.
void impatient_hosts(Scene& scene) {
  constexpr uint32_t kSteps = 200;
  auto gates = scene.events(kSteps);
  ze_command_list_handle_t list = scene.immediate(kCompute);
  for (ze_event_handle_t gate : gates) barrier(list, nullptr, {gate});
  std::atomic<bool> stop{false};
  std::thread looker([&] {
    while (!stop) {
      zeCommandListHostSynchronize(list, 0);
      zeCommandListHostSynchronize(list, 20'000);
    }
  });
  std::thread patient([&] { OK(zeCommandListHostSynchronize(list, UINT64_MAX)); });
  for (ze_event_handle_t gate : gates) {
    OK(zeEventHostSignal(gate));
    std::this_thread::yield();
  }
  patient.join();
  stop = true;
  looker.join();
  OK(zeCommandListDestroy(list));
  for (ze_event_handle_t gate : gates) OK(zeEventDestroy(gate));
}

void test() {
  Scene scene;
  more_than_a_sleep_can_watch(scene);
  one_gate_for_all(scene);
  counters(scene);
  sleeping_hosts(scene);
  impatient_hosts(scene);
}

}  // namespace

int main() {
  also_handed_over(test);
  std::puts("parking_test: ok");
  return 0;
}
