// Objects destroyed while the device still uses them, and queues that overtake each other.
#include "scene.h"

using namespace scene;

namespace {

// Everything that a held command names is destroyed before it runs; it runs all the same.
void destroy_all_while_held(Scene& scene) {
  for (int round = 0; round < 40; ++round) {
    ze_context_handle_t context = scene.context;
    scene.context = scene.new_context();
    auto events = scene.events(3);
    ze_command_queue_handle_t queue = scene.queue(round % 2);
    ze_command_list_handle_t recorded = scene.list(round % 2), immediate = scene.immediate(1 - round % 2);
    ze_fence_handle_t fence = scene.fence(queue);
    // The memory is the other context's: freeing what is in use is the one thing that stays forbidden.
    std::swap(context, scene.context);
    unsigned char* row = scene.memory(128);
    std::memset(row, 0, 128);
    fill(recorded, row, 5, 64, events[1], {events[0]});
    OK(zeCommandListClose(recorded));
    OK(zeCommandQueueExecuteCommandLists(queue, 1, &recorded, fence));
    copy(immediate, row + 64, row, 64, events[2], {events[1]});
    OK(zeCommandListDestroy(recorded));
    OK(zeCommandListDestroy(immediate));
    OK(zeFenceDestroy(fence));
    OK(zeCommandQueueDestroy(queue));
    OK(zeEventDestroy(events[1]));
    OK(zeContextDestroy(context));
    if (round % 3 == 0) sleep_ms(1);
    OK(zeEventHostSignal(events[0]));
    OK(zeEventDestroy(events[0]));
    OK(zeEventHostSynchronize(events[2], kSoon));
    assert(all(row, 5, 128));
    OK(zeEventDestroy(events[2]));
    scene.free(row);
  }
}

// Waiters help the queue that will signal their event; here that queue is destroyed under them.
void waiters_outlive_the_queue(Scene& scene) {
  constexpr int kRounds = 150;
  unsigned char* row = scene.memory(1 << 20);
  for (int round = 0; round < kRounds; ++round) {
    auto events = scene.events(2);
    ze_command_list_handle_t list = scene.immediate(round % 2);
    barrier(list, nullptr, {events[0]});
    fill(list, row, static_cast<unsigned char>(round), 1 << (8 + round % 12), events[1]);
    std::thread waiter([&] { OK(zeEventHostSynchronize(events[1], kSoon)); });
    std::thread destroyer([&] { OK(zeCommandListDestroy(list)); });
    OK(zeEventHostSignal(events[0]));
    // New lists take the places of dead ones at once.
    ze_command_list_handle_t other = scene.immediate(round % 2);
    barrier(other, nullptr);
    destroyer.join();
    waiter.join();
    OK(zeCommandListDestroy(other));
    for (ze_event_handle_t event : events) OK(zeEventDestroy(event));
  }
  scene.free(row);
}

// An event is destroyed the moment it is signalled and another made in its place, while the engine has hardly let go of the first.
void events_in_one_place(Scene& scene) {
  for (uint32_t shareable : {0u, uint32_t{ZE_EVENT_POOL_FLAG_IPC}}) {
    ze_event_pool_handle_t pool = scene.pool(1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE | shareable);
    ze_command_list_handle_t list = scene.immediate(kCopy);
    unsigned char* row = scene.memory(1 << 15);
    for (int round = 0; round < 200; ++round) {
      ze_event_handle_t event = Scene::event(pool, 0);
      assert(zeEventQueryStatus(event) == ZE_RESULT_NOT_READY);
      fill(list, row, 1, 1 << 15, event);
      while (zeEventQueryStatus(event) == ZE_RESULT_NOT_READY) {
      }
      OK(zeEventDestroy(event));
    }
    OK(zeCommandListDestroy(list));
    OK(zeEventPoolDestroy(pool));
    scene.free(row);
  }
}

void reset_while_running(Scene& scene) {
  ze_command_queue_handle_t queue = scene.queue(kCompute);
  ze_command_list_handle_t list = scene.list(kCompute);
  unsigned char* row = scene.memory(300);
  std::memset(row, 0, 300);
  for (int i = 0; i < 300; ++i) {
    OK(zeCommandListReset(list));
    fill(list, row + i, 1, 1);
    OK(zeCommandListClose(list));
    OK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
  }
  OK(zeCommandListDestroy(list));
  OK(zeCommandQueueSynchronize(queue, kSoon));
  assert(all(row, 1, 300));
  OK(zeCommandQueueDestroy(queue));
  scene.free(row);
}

// The urgent queue is done long before the idle one, although it was submitted last; and both end.
void priorities(Scene& scene) {
  ze_command_queue_handle_t low = scene.queue(kCompute, ZE_COMMAND_QUEUE_MODE_DEFAULT, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW);
  ze_command_queue_handle_t high = scene.queue(kCompute, ZE_COMMAND_QUEUE_MODE_DEFAULT, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH);
  ze_command_list_handle_t slow = scene.list(kCompute), quick = scene.list(kCompute);
  std::atomic<int> order{0};
  struct Mark {
    std::atomic<int>* order;
    int at = 0;
  } first{&order}, second{&order};
  std::atomic<bool> submitted{false};
  ze_host_function_callback_t wait = [](void* argument) {
    while (!static_cast<std::atomic<bool>*>(argument)->load()) std::this_thread::yield();
    sleep_ms(1);
  };
  ze_host_function_callback_t mark = [](void* argument) {
    auto* m = static_cast<Mark*>(argument);
    m->at = ++*m->order;
  };
  for (int i = 0; i < 60; ++i) OK(zeCommandListAppendHostFunction(slow, wait, &submitted, nullptr, nullptr, 0, nullptr));
  OK(zeCommandListAppendHostFunction(slow, mark, &first, nullptr, nullptr, 0, nullptr));
  OK(zeCommandListAppendHostFunction(quick, mark, &second, nullptr, nullptr, 0, nullptr));
  for (auto list : {slow, quick}) OK(zeCommandListClose(list));
  OK(zeCommandQueueExecuteCommandLists(low, 1, &slow, nullptr));
  OK(zeCommandQueueExecuteCommandLists(high, 1, &quick, nullptr));
  submitted = true;
  OK(zeCommandQueueSynchronize(high, kSoon));
  OK(zeCommandQueueSynchronize(low, kSoon));
  assert(second.at == 1 && first.at == 2);
  for (auto list : {slow, quick}) OK(zeCommandListDestroy(list));
  for (auto queue : {low, high}) OK(zeCommandQueueDestroy(queue));
}

// Deferred and blocking frees race with the commands that use the memory, in immediate lists and in recorded ones that are gone
// before they have run.
void frees_and_commands(Scene& scene) {
  ze_command_list_handle_t lists[] = {scene.immediate(kCompute), scene.immediate(kCopy)};
  ze_command_queue_handle_t queues[] = {scene.queue(kCompute), scene.queue(kCopy)};
  unsigned char* target = scene.memory(1 << 17);
  constexpr size_t kSize = 1 << 12;
  threads(4, [&](int index) {
    for (int i = 0; i < 150; ++i) {
      unsigned char* source = scene.memory(kSize);
      uint32_t ordinal = static_cast<uint32_t>((index + i) % 2);
      // A place for each thread on each list and queue: all of them may write at the same time.
      unsigned char* place = target + (static_cast<uint32_t>(4 * index) + ordinal) * kSize;
      copy(lists[ordinal], place, source, kSize);
      if (i % 3) {
        ze_command_list_handle_t recorded = scene.list(ordinal);
        for (int n = 0; n < i % 7; ++n) barrier(recorded, nullptr);
        copy(recorded, place + 2 * kSize, source, kSize);
        OK(zeCommandListClose(recorded));
        OK(zeCommandQueueExecuteCommandLists(queues[ordinal], 1, &recorded, nullptr));
        OK(zeCommandListDestroy(recorded));
      }
      ze_memory_free_ext_desc_t desc = {ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC, nullptr, 0};
      desc.freePolicy =
          i % 2 ? ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE : ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE;
      OK(zeMemFreeExt(scene.context, &desc, source));
    }
  });
  for (uint32_t ordinal : {kCompute, kCopy}) {
    OK(zeCommandListHostSynchronize(lists[ordinal], kSoon));
    OK(zeCommandListDestroy(lists[ordinal]));
    OK(zeCommandQueueSynchronize(queues[ordinal], kSoon));
    OK(zeCommandQueueDestroy(queues[ordinal]));
  }
  scene.free(target);
  OK(zeContextGetStatus(scene.context));
}

// Work left behind at exit, on purpose: nothing joins, nothing hangs.
void leave_things_running(Scene& scene) {
  auto gate = scene.events(1)[0];
  for (uint32_t i = 0; i < 70; ++i) barrier(scene.immediate(i % 2), nullptr, {gate});
  std::thread([gate] { zeEventHostSynchronize(gate, UINT64_MAX); }).detach();
}

void test() {
  Scene scene;
  destroy_all_while_held(scene);
  waiters_outlive_the_queue(scene);
  events_in_one_place(scene);
  reset_while_running(scene);
  priorities(scene);
  frees_and_commands(scene);
  leave_things_running(scene);
}

}  // namespace

int main() {
  also_handed_over(test);
  std::puts("lifetime_test: ok");
  return 0;
}

#if defined(__SANITIZE_ADDRESS__)
// What is left running is left on purpose.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif
#if defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_options() { return "report_thread_leaks=0"; }
#endif
