// Who runs a command: the submitter itself, the engine, or a thread that waits. The borders between them, crossed as often as
// possible.
#include <algorithm>

#include "scene.h"
#include "system/settings.h"

using namespace scene;

namespace {

// Small and large commands in turn: each large one goes to the engine, and the small one behind it meets the engine still at work,
// just done, or asleep again.
void inline_and_engine_in_turn(Scene& scene) {
  constexpr int kTimes = 400;
  size_t large = std::clamp<size_t>(anyzero::settings.inline_bytes * 4, 65536, 1 << 20);
  unsigned char* room = scene.memory(large + kTimes);
  for (uint32_t ordinal : {kCompute, kCopy}) {
    ze_command_list_handle_t list = scene.immediate(ordinal);
    std::mt19937 random(ordinal);
    for (int i = 0; i < kTimes; ++i) {
      unsigned char value = static_cast<unsigned char>(i);
      fill(list, room, value, large);
      copy(list, room + large + i, room + large - 1, 1);
      if (random() % 8 == 0) OK(zeCommandListHostSynchronize(list, kSoon));
      for (unsigned spin = random() % 2000; spin; --spin) asm volatile("");
    }
    OK(zeCommandListHostSynchronize(list, kSoon));
    for (int i = 0; i < kTimes; ++i) assert(room[large + i] == static_cast<unsigned char>(i));
    OK(zeCommandListDestroy(list));
  }
  scene.free(room);
}

// The byte moves one place to the right with every command, from engine to engine and host to host.
void relay(Scene& scene) {
  constexpr uint32_t kLength = 600;
  std::vector<ze_event_handle_t> events = scene.events(kLength + 1);
  ze_command_list_handle_t lists[] = {scene.immediate(kCompute), scene.immediate(kCopy), scene.immediate(kCompute),
                                      scene.immediate(kCopy)};
  unsigned char* row = scene.memory(kLength + 1);
  std::memset(row, 0, kLength + 1);
  row[0] = 0x2a;
  // Appended by four threads in any order; only the events put them into one.
  threads(4, [&](int index) {
    for (uint32_t i = static_cast<uint32_t>(index); i < kLength; i += 4)
      copy(lists[index], row + i + 1, row + i, 1, events[i + 1], {events[i]});
  });
  OK(zeEventHostSignal(events[0]));
  OK(zeEventHostSynchronize(events[kLength], kSoon));
  assert(all(row, 0x2a, kLength + 1));
  for (ze_command_list_handle_t list : lists) OK(zeCommandListDestroy(list));
  for (ze_event_handle_t event : events) OK(zeEventDestroy(event));
  scene.free(row);
}

// Compute and copy hand a ball to each other, in recorded lists that are replayed, with fences to end each round.
void ping_pong(Scene& scene) {
  constexpr int kRounds = 60, kHits = 20;
  auto events = scene.events(2);
  ze_command_queue_handle_t queues[] = {scene.queue(kCompute), scene.queue(kCopy)};
  ze_command_list_handle_t lists[] = {scene.list(kCompute), scene.list(kCopy)};
  ze_fence_handle_t fences[] = {scene.fence(queues[0]), scene.fence(queues[1])};
  unsigned char* row = scene.memory(2 * kHits + 1);
  for (int i = 0; i < kHits; ++i) {
    copy(lists[0], row + 2 * i + 1, row + 2 * i, 1, events[0]);
    OK(zeCommandListAppendWaitOnEvents(lists[0], 1, &events[1]));
    OK(zeCommandListAppendEventReset(lists[0], events[1]));
    OK(zeCommandListAppendWaitOnEvents(lists[1], 1, &events[0]));
    OK(zeCommandListAppendEventReset(lists[1], events[0]));
    copy(lists[1], row + 2 * i + 2, row + 2 * i + 1, 1, events[1]);
  }
  for (ze_command_list_handle_t list : lists) OK(zeCommandListClose(list));
  for (int round = 1; round <= kRounds; ++round) {
    std::memset(row, 0, 2 * kHits + 1);
    row[0] = static_cast<unsigned char>(round);
    int first = round % 2;
    for (int side : {first, 1 - first}) OK(zeCommandQueueExecuteCommandLists(queues[side], 1, &lists[side], fences[side]));
    for (int side : {0, 1}) {
      OK(zeFenceHostSynchronize(fences[side], kSoon));
      OK(zeFenceReset(fences[side]));
    }
    assert(all(row, static_cast<unsigned char>(round), 2 * kHits + 1));
  }
  for (int side : {0, 1}) {
    OK(zeFenceDestroy(fences[side]));
    OK(zeCommandQueueDestroy(queues[side]));
    OK(zeCommandListDestroy(lists[side]));
    OK(zeEventDestroy(events[static_cast<size_t>(side)]));
  }
  scene.free(row);
}

// Threads on one queue and one immediate list: nothing is lost, nothing runs twice, order holds for each.
void shared_queue(Scene& scene) {
  constexpr int kThreads = 6, kTimes = 200;
  ze_command_queue_handle_t queue = scene.queue(kCompute);
  ze_command_list_handle_t list = scene.immediate(kCompute);
  unsigned char* rows = scene.memory(kThreads * 2 * (kTimes + 1));
  std::memset(rows, 0, kThreads * 2 * (kTimes + 1));
  threads(kThreads, [&](int index) {
    unsigned char* one = rows + index * 2 * (kTimes + 1);
    unsigned char* two = one + kTimes + 1;
    one[0] = two[0] = static_cast<unsigned char>(index + 1);
    for (int i = 0; i < kTimes; ++i) {
      ze_command_list_handle_t recorded = scene.list(kCompute);
      copy(recorded, one + i + 1, one + i, 1);
      OK(zeCommandListClose(recorded));
      OK(zeCommandQueueExecuteCommandLists(queue, 1, &recorded, nullptr));
      OK(zeCommandListDestroy(recorded));
      copy(list, two + i + 1, two + i, 1);
      if (i % 64 == 0) OK(zeCommandListHostSynchronize(list, kSoon));
    }
  });
  OK(zeCommandQueueSynchronize(queue, kSoon));
  OK(zeCommandListHostSynchronize(list, kSoon));
  for (int index = 0; index < kThreads; ++index)
    assert(all(rows + index * 2 * (kTimes + 1), static_cast<unsigned char>(index + 1), 2 * (kTimes + 1)));
  OK(zeCommandQueueDestroy(queue));
  OK(zeCommandListDestroy(list));
  scene.free(rows);
}

// Many threads wait for the same queue and help; the queue must be walked by one at a time.
void many_waiters(Scene& scene) {
  ze_command_queue_handle_t queue = scene.queue(kCompute);
  ze_command_list_handle_t list = scene.list(kCompute);
  auto* counter = reinterpret_cast<uint32_t*>(scene.memory(4));
  *counter = 0;
  ze_host_function_callback_t add = [](void* argument) { ++*static_cast<uint32_t*>(argument); };
  unsigned char* row = scene.memory(65536);
  for (int i = 0; i < 10; ++i) {
    fill(list, row, 1, 65536);
    OK(zeCommandListAppendHostFunction(list, add, counter, nullptr, nullptr, 0, nullptr));
    copy(list, row, row + 32768, 100);
  }
  OK(zeCommandListClose(list));
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 3; ++i) OK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
    threads(5, [&](int) { OK(zeCommandQueueSynchronize(queue, kSoon)); });
  }
  assert(*counter == 20 * 3 * 10);
  OK(zeCommandQueueDestroy(queue));
  OK(zeCommandListDestroy(list));
  scene.free(row);
  scene.free(counter);
}

void test() {
  Scene scene;
  inline_and_engine_in_turn(scene);
  relay(scene);
  ping_pong(scene);
  shared_queue(scene);
  many_waiters(scene);
}

}  // namespace

int main() {
  also_handed_over(test);
  std::puts("handover_test: ok");
  return 0;
}
