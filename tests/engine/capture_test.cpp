// Graphs: captured while other threads append, replayed by several threads, destroyed while they run.
#include "scene.h"

using namespace scene;

namespace {

struct Forked {
  ze_graph_handle_t graph = nullptr;
  ze_executable_graph_handle_t executable = nullptr;
};

// Two lists that pass a byte to and fro.
Forked capture(Scene& scene, ze_command_list_handle_t first, ze_command_list_handle_t second, unsigned char* row) {
  auto events = scene.events(2);
  OK(zeCommandListBeginGraphCaptureExt(first, nullptr));
  copy(first, row + 1, row, 1, events[0], {});
  copy(second, row + 2, row + 1, 1, events[1], {events[0]});
  copy(first, row + 3, row + 2, 1, nullptr, {events[1]});
  Forked made;
  OK(zeCommandListEndGraphCaptureExt(first, nullptr, &made.graph));
  OK(zeGraphInstantiateExt(made.graph, nullptr, &made.executable));
  for (ze_event_handle_t event : events) OK(zeEventDestroy(event));
  return made;
}

void destroy(const Forked& forked) {
  OK(zeExecutableGraphDestroyExt(forked.executable));
  OK(zeGraphDestroyExt(forked.graph));
}

void replay_from_many_threads(Scene& scene) {
  unsigned char* row = scene.memory(8);
  ze_command_list_handle_t lists[2] = {scene.immediate(kCompute), scene.immediate(kCopy)};
  std::memset(row, 0, 8);
  row[0] = 7;
  const Forked forked = capture(scene, lists[0], lists[1], row);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      ze_command_list_handle_t own = scene.immediate(kCompute);
      for (int round = 0; round < 100; ++round)
        OK(zeCommandListAppendGraphExt(own, forked.executable, nullptr, nullptr, 0, nullptr));
      OK(zeCommandListHostSynchronize(own, kSoon));
      OK(zeCommandListDestroy(own));
    });
  for (std::thread& thread : threads) thread.join();
  assert(all(row, 7, 4));
  destroy(forked);
  for (ze_command_list_handle_t list : lists) OK(zeCommandListDestroy(list));
  scene.free(row);
}

// Each thread captures and replays graphs of its own, while one appends to a list that has nothing to do with any.
void capture_beside_each_other(Scene& scene) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    ze_command_list_handle_t list = scene.immediate(kCompute);
    unsigned char* row = scene.memory(64);
    auto events = scene.events(1);
    while (!stop) {
      fill(list, row, 1, 64, events[0], {});
      OK(zeEventHostSynchronize(events[0], kSoon));
      OK(zeEventHostReset(events[0]));
    }
    OK(zeCommandListDestroy(list));
    OK(zeEventDestroy(events[0]));
    scene.free(row);
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      unsigned char* row = scene.memory(8);
      for (int round = 1; round <= 40; ++round) {
        ze_command_list_handle_t lists[2] = {scene.immediate(kCompute), scene.immediate(kCopy)};
        const Forked forked = capture(scene, lists[0], lists[1], row);
        std::memset(row, 0, 8);
        row[0] = static_cast<unsigned char>(round);
        OK(zeCommandListAppendGraphExt(lists[0], forked.executable, nullptr, nullptr, 0, nullptr));
        OK(zeCommandListHostSynchronize(lists[0], kSoon));
        assert(all(row, row[0], 4));
        for (ze_command_list_handle_t list : lists) OK(zeCommandListDestroy(list));
        destroy(forked);
      }
      scene.free(row);
    });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  other.join();
}

// Graph, executable graph and lists go while the graph is held up; it runs all the same.
void destroy_while_held(Scene& scene) {
  for (int round = 0; round < 20; ++round) {
    unsigned char* row = scene.memory(8);
    std::memset(row, 0, 8);
    row[0] = 5;
    auto events = scene.events(2);
    ze_command_list_handle_t lists[2] = {scene.immediate(kCompute), scene.immediate(kCopy)};
    const Forked forked = capture(scene, lists[0], lists[1], row);
    OK(zeCommandListAppendGraphExt(lists[0], forked.executable, nullptr, events[1], 1, &events[0]));
    destroy(forked);
    for (ze_command_list_handle_t list : lists) OK(zeCommandListDestroy(list));
    OK(zeEventHostSignal(events[0]));
    OK(zeEventHostSynchronize(events[1], kSoon));
    assert(all(row, 5, 4));
    for (ze_event_handle_t event : events) OK(zeEventDestroy(event));
    scene.free(row);
  }
}

void test() {
  Scene scene;
  replay_from_many_threads(scene);
  capture_beside_each_other(scene);
  destroy_while_held(scene);
  OK(zeContextDestroy(scene.context));
}

}  // namespace

int main() {
  also_handed_over(test);
  std::printf("capture_test: ok\n");
  return 0;
}
