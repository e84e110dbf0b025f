// Programs that destroy, close, reset and execute what other threads are using, which the specification forbids: some calls fail,
// and nothing breaks.
#include "kernels.h"

using namespace scene;
using namespace kernels;

#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() { return "allow_user_segv_handler=1:detect_leaks=0:handle_segv=1"; }
#endif

namespace {

constexpr int kRounds = 300;

// What calls may answer when the object was destroyed, closed or opened by another thread just before.
void allowed(ze_result_t result) {
  if (result == ZE_RESULT_SUCCESS || result == ZE_RESULT_ERROR_INVALID_NULL_HANDLE || result == ZE_RESULT_ERROR_INVALID_ARGUMENT)
    return;
  std::fprintf(stderr, "an unexpected result: %#x\n", static_cast<unsigned>(result));
  std::abort();
}

template <class Handle, class Make>
struct Replaced {
  std::atomic<Handle> now;
  Make make;
  explicit Replaced(Make make) : now(make()), make(make) {}
  operator Handle() const { return now.load(); }
  Handle replace() { return now.exchange(make()); }
};

// Each thread does its part until the last one, which has a number of rounds, is through.
void until_done(const std::function<void()>& rounds, std::initializer_list<std::function<void()>> others) {
  std::atomic<bool> done{false};
  std::vector<std::thread> running;
  for (const auto& other : others)
    running.emplace_back([&done, other] {
      while (!done.load()) other();
    });
  for (int i = 0; i < kRounds; ++i) rounds();
  done = true;
  for (std::thread& thread : running) thread.join();
}

void immediate_lists(const Scene& scene) {
  Replaced<ze_command_list_handle_t, std::function<ze_command_list_handle_t()>> list([&] { return scene.immediate(kCompute); });
  KernelHandle kernel(scene, {.name = "empty"});
  auto append = [&] {
    const ze_group_count_t count{1, 1, 1};
    allowed(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
    allowed(zeCommandListAppendLaunchKernel(list, kernel, &count, nullptr, 0, nullptr));
  };
  auto look = [&] {
    allowed(zeCommandListHostSynchronize(list, kSoon));
    allowed(zeCommandListReset(list));
  };
  until_done([&] { OK(zeCommandListDestroy(list.replace())); }, {append, append, look});
  OK(zeCommandListDestroy(list));
}

void recorded_lists(const Scene& scene) {
  Replaced<ze_command_list_handle_t, std::function<ze_command_list_handle_t()>> list([&] { return scene.list(kCompute); });
  Replaced<ze_command_queue_handle_t, std::function<ze_command_queue_handle_t()>> queue([&] { return scene.queue(kCompute); });
  KernelHandle kernel(scene, {.name = "empty"});
  auto append = [&] {
    const ze_group_count_t count{1, 1, 1};
    for (int i = 0; i < 20; ++i) allowed(zeCommandListAppendLaunchKernel(list, kernel, &count, nullptr, 0, nullptr));
    allowed(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  };
  auto execute = [&] {
    ze_command_list_handle_t both[2] = {list, list};
    allowed(zeCommandListClose(both[0]));
    allowed(zeCommandQueueExecuteCommandLists(queue, 2, both, nullptr));
    allowed(zeCommandListReset(list));
  };
  int round = 0;
  until_done(
      [&] {
        allowed(zeCommandListClose(list));
        if (++round % 2) OK(zeCommandListDestroy(list.replace()));
        if (round % 3 == 0) OK(zeCommandQueueDestroy(queue.replace()));
      },
      {append, append, execute});
  OK(zeCommandQueueSynchronize(queue, kSoon));
  OK(zeCommandListDestroy(list));
  OK(zeCommandQueueDestroy(queue));
}

void kernels_in_use(const Scene& scene) {
  std::atomic<KernelHandle*> kernel{new KernelHandle(scene, {.name = "empty"})};
  ze_command_list_handle_t list = scene.immediate(kCompute);
  std::atomic<ze_kernel_handle_t> now{kernel.load()->handle};
  auto append = [&] {
    const ze_group_count_t count{3, 1, 1};
    allowed(zeCommandListAppendLaunchKernel(list, now, &count, nullptr, 0, nullptr));
    allowed(zeKernelSetGroupSize(now, 1, 1, 1));
  };
  until_done(
      [&] {
        auto* next = new KernelHandle(scene, {.name = "empty"});
        now = next->handle;
        delete kernel.exchange(next);
      },
      {append});
  OK(zeCommandListHostSynchronize(list, kSoon));
  OK(zeCommandListDestroy(list));
  delete kernel.load();
}

// A thread that waits inside a list keeps it; whoever destroys it need not wait.
void destroyed_under_a_waiter(const Scene& scene) {
  for (int i = 0; i < 20; ++i) {
    auto events = scene.events(1);
    ze_command_list_handle_t list = scene.immediate(kCompute);
    barrier(list, nullptr, {events[0]});
    std::atomic<bool> there{false};
    std::thread waiter([&] {
      there = true;
      allowed(zeCommandListHostSynchronize(list, kSoon));
    });
    while (!there) std::this_thread::yield();
    OK(zeCommandListDestroy(list));
    assert(zeCommandListDestroy(list) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
    OK(zeEventHostSignal(events[0]));
    waiter.join();
    OK(zeEventDestroy(events[0]));
  }
}

}  // namespace

int main() {
  Scene scene;
  immediate_lists(scene);
  recorded_lists(scene);
  kernels_in_use(scene);
  destroyed_under_a_waiter(scene);
  std::puts("misuse_test: ok");
  return 0;
}
