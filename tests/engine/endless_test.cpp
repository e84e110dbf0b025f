// Kernels that do not end: other work continues, appends return, waits time out, and the process can exit.
#include "kernels.h"
#include "system/settings.h"

using namespace scene;
using namespace kernels;

#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() { return "allow_user_segv_handler=1:detect_leaks=0:handle_segv=1"; }
#endif

namespace {

const Facts kSpinWhile{.name = "spin_while", .parameters = {kPointer, kU64}, .flags = 0};
const Facts kCount{.name = "count", .parameters = {kPointer}};

uint32_t* word(const Scene& scene, uint32_t value) {
  auto* made = reinterpret_cast<uint32_t*>(scene.memory(64));
  __atomic_store_n(made, value, __ATOMIC_RELEASE);
  return made;
}

void set(uint32_t* at, uint32_t value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }

// A kernel on a list of its own that runs until it is told to stop.
struct Endless {
  const Scene& scene;
  KernelHandle kernel;
  ze_command_list_handle_t list;
  uint32_t* running;

  Endless(const Scene& scene, uint32_t groups, uint64_t from = 0)
      : scene(scene), kernel(scene, kSpinWhile), list(scene.immediate(kCompute)), running(word(scene, 1)) {
    kernel.set(0, running).set(1, from);
    launch(list, kernel, groups);
  }
  ~Endless() {
    set(running, 0);
    OK(zeCommandListHostSynchronize(list, kSoon));
    OK(zeCommandListDestroy(list));
    scene.free(running);
  }
};

// Every way to get a kernel done, in a context of its own.
void everything_works(const Scene& scene, bool same_context) {
  Scene mine = scene;
  if (!same_context) mine.context = scene.new_context();
  KernelHandle kernel(mine, kCount);
  auto* to = reinterpret_cast<uint64_t*>(mine.memory(64));
  to[0] = 0;
  kernel.set(0, to);
  for (auto mode : {ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS}) {
    ze_command_list_handle_t list = mine.immediate(kCompute, mode);
    for (uint32_t groups : {1u, 100'000u}) launch(list, kernel, groups);
    OK(zeCommandListHostSynchronize(list, kSoon));
    OK(zeCommandListDestroy(list));
    // Waits that are too short to help with the work.
    list = mine.immediate(kCompute, mode);
    for (uint32_t groups : {1u, 100'000u}) launch(list, kernel, groups);
    ze_result_t result;
    while ((result = zeCommandListHostSynchronize(list, 1'000'000)) == ZE_RESULT_NOT_READY) continue;
    OK(result);
    OK(zeCommandListDestroy(list));
    ze_command_queue_handle_t queue = mine.queue(kCompute, mode);
    ze_command_list_handle_t recorded = mine.list(kCompute);
    for (uint32_t groups : {1u, 100'000u}) launch(recorded, kernel, groups);
    OK(zeCommandListClose(recorded));
    OK(zeCommandQueueExecuteCommandLists(queue, 1, &recorded, nullptr));
    OK(zeCommandQueueSynchronize(queue, kSoon));
    OK(zeCommandListDestroy(recorded));
    OK(zeCommandQueueDestroy(queue));
  }
  // Nobody helps: the engine must see that the event has come.
  auto events = mine.events(2);
  ze_command_list_handle_t list = mine.immediate(kCompute);
  barrier(list, events[1], {events[0]});
  OK(zeEventHostSignal(events[0]));
  while (zeEventQueryStatus(events[1]) == ZE_RESULT_NOT_READY) std::this_thread::yield();
  // A host function needs an engine thread.
  bool called = false;
  OK(zeCommandListAppendHostFunction(
      list, [](void* at) { *static_cast<bool*>(at) = true; }, &called, nullptr, nullptr, 0, nullptr));
  OK(zeCommandListHostSynchronize(list, kSoon));
  assert(called && to[0] == 6 * 100'001);
  OK(zeCommandListDestroy(list));
  for (ze_event_handle_t event : events) OK(zeEventDestroy(event));
  mine.free(to);
  if (!same_context) OK(zeContextDestroy(mine.context));
}

void others_go_on(const Scene& scene) {
  Endless one(scene, 1);
  everything_works(scene, false);
  everything_works(scene, true);
  // Also those that have all the workers, and several at once.
  Endless many(scene, 1000), more(scene, 1), last(scene, 1);
  everything_works(scene, false);
}

// A list that waits when the engine is taken is seen to when its event comes.
void who_waited_before(const Scene& scene) {
  auto events = scene.events(2);
  ze_command_list_handle_t list = scene.immediate(kCompute);
  barrier(list, events[1], {events[0]});
  Endless endless(scene, 1);
  OK(zeEventHostSignal(events[0]));
  while (zeEventQueryStatus(events[1]) == ZE_RESULT_NOT_READY) std::this_thread::yield();
  OK(zeCommandListDestroy(list));
  for (ze_event_handle_t event : events) OK(zeEventDestroy(event));
}

// However quick it was before, with memory that holds something else it may never end.
void appends_come_back(const Scene& scene) {
  KernelHandle kernel(scene, kSpinWhile);
  uint32_t* running = word(scene, 0);
  kernel.set(0, running).set(1, uint64_t{0});
  ze_command_list_handle_t list = scene.immediate(kCompute), recorded = scene.list(kCompute);
  ze_command_queue_handle_t queue = scene.queue(kCompute);
  launch(recorded, kernel, 1);
  OK(zeCommandListClose(recorded));
  for (int i = 0; i < 50; ++i) {
    launch(list, kernel, 1);
    OK(zeCommandListHostSynchronize(list, kSoon));
    OK(zeCommandQueueExecuteCommandLists(queue, 1, &recorded, nullptr));
    OK(zeCommandQueueSynchronize(queue, kSoon));
  }
  set(running, 1);
  launch(list, kernel, 1);
  OK(zeCommandQueueExecuteCommandLists(queue, 1, &recorded, nullptr));
  assert(zeCommandListHostSynchronize(list, 100'000'000) == ZE_RESULT_NOT_READY);
  assert(zeCommandQueueSynchronize(queue, 1'000'000) == ZE_RESULT_NOT_READY);
  set(running, 0);
  OK(zeCommandListHostSynchronize(list, kSoon));
  OK(zeCommandQueueSynchronize(queue, kSoon));
  OK(zeCommandListDestroy(list));
  OK(zeCommandListDestroy(recorded));
  OK(zeCommandQueueDestroy(queue));
  scene.free(running);
}

// Loops that turn as often as an argument says end soon only with an argument that is known for it.
void other_arguments(const Scene& scene) {
  Parameter counts = kU64;
  counts.access = 1;
  KernelHandle kernel(scene, {.name = "turns", .parameters = {kPointer, counts}, .flags = anyzero::KernelFlag::kTurnsByArguments});
  uint32_t* stop = word(scene, 0);
  ze_command_list_handle_t list = scene.immediate(kCompute);
  kernel.set(0, stop).set(1, uint64_t{1});
  for (int i = 0; i < 50; ++i) {
    launch(list, kernel, 1);
    OK(zeCommandListHostSynchronize(list, kSoon));
  }
  kernel.set(1, UINT64_MAX);
  launch(list, kernel, 1);
  assert(zeCommandListHostSynchronize(list, 100'000'000) == ZE_RESULT_NOT_READY);
  set(stop, 1);
  OK(zeCommandListHostSynchronize(list, kSoon));
  OK(zeCommandListDestroy(list));
  scene.free(stop);
}

// The first groups are quick, and so all of them seem: threads that wait for something else must not take some of them on.
void waits_end_with_their_time(const Scene& scene) {
  auto events = scene.events(1);
  Endless endless(scene, 1u << 30, 1u << 20);
  for (int i = 0; i < 40; ++i) assert(zeEventHostSynchronize(events[0], 1'000'000) == ZE_RESULT_NOT_READY);
  assert(zeEventHostSynchronize(events[0], 100'000'000) == ZE_RESULT_NOT_READY);
  assert(zeCommandListHostSynchronize(endless.list, 1'000'000) == ZE_RESULT_NOT_READY);
  assert(zeCommandListHostSynchronize(endless.list, 100'000'000) == ZE_RESULT_NOT_READY);
  OK(zeEventDestroy(events[0]));
}

// What still runs holds up neither destroys nor the end of the process.
void the_end() {
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    Scene scene;
    KernelHandle kernel(scene, {.name = "spin", .flags = 0});
    ze_command_list_handle_t list = scene.immediate(kCompute), recorded = scene.list(kCompute);
    ze_command_queue_handle_t queue = scene.queue(kCompute);
    ze_fence_handle_t fence = scene.fence(queue);
    launch(list, kernel, 1000);
    launch(recorded, kernel, 1);
    OK(zeCommandListClose(recorded));
    OK(zeCommandQueueExecuteCommandLists(queue, 1, &recorded, fence));
    assert(zeFenceHostSynchronize(fence, 1'000'000) == ZE_RESULT_NOT_READY);
    OK(zeFenceDestroy(fence));
    OK(zeCommandListDestroy(list));
    OK(zeCommandListDestroy(recorded));
    OK(zeCommandQueueDestroy(queue));
    OK(zeContextDestroy(scene.context));
    std::exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  assert(status == 0);
}

void test() {
  Scene scene;
  anyzero::settings.threads = 4;
  others_go_on(scene);
  who_waited_before(scene);
  appends_come_back(scene);
  other_arguments(scene);
  waits_end_with_their_time(scene);
}

}  // namespace

int main() {
  the_end();
  also_handed_over(test);
  std::puts("endless_test: ok");
  return 0;
}
