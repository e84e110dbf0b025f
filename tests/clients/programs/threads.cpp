// Many threads, each with its own immediate list and its own kernel, and one queue that all of them share.
// threads FILE, which has a kernel "triad" that computes a[i] = b[i] + s * c[i]
#include <atomic>
#include <thread>
#include <vector>

#include "check.h"

namespace {

constexpr int kThreads = 8, kRounds = 50, kShared = 20;
constexpr uint32_t kCount = 1024, kGroup = 64;

std::atomic<int> wrong{0};

struct Worker {
  setup_t s;
  ze_module_handle_t module;
  ze_command_queue_handle_t shared_queue;
  int number;

  void operator()() const {
    float* memory = static_cast<float*>(host_memory(s, 3 * kCount * sizeof(float)));
    float *a = memory, *b = memory + kCount, *c = memory + 2 * kCount;
    ze_kernel_handle_t kernel = make_kernel(module, "triad");
    CHECK(zeKernelSetGroupSize(kernel, kGroup, 1, 1));
    ARGUMENT(kernel, 0, a);
    ARGUMENT(kernel, 1, b);
    ARGUMENT(kernel, 2, c);
    ze_group_count_t groups = {kCount / kGroup, 1, 1};
    for (uint32_t i = 0; i < kCount; ++i) b[i] = static_cast<float>(i), c[i] = 1;

    on_own_list(kernel, groups, a, b);
    on_shared_queue(kernel, groups, a, b);
    CHECK(zeKernelDestroy(kernel));
    CHECK(zeMemFree(s.context, memory));
  }

  void expect(const float* a, const float* b, float scale) const {
    for (uint32_t i = 0; i < kCount; ++i) wrong += a[i] != b[i] + scale;
  }

  void on_own_list(ze_kernel_handle_t kernel, const ze_group_count_t& groups, float* a, float* b) const {
    ze_event_pool_handle_t pool = make_pool(s, 1, 0);
    ze_event_handle_t done = make_event(pool, 0);
    ze_command_list_handle_t list = make_immediate(s, 0, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    for (int round = 0; round < kRounds; ++round) {
      float scale = static_cast<float>(number * kRounds + round);
      ARGUMENT(kernel, 3, scale);
      CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, done, 0, nullptr));
      CHECK(zeEventHostSynchronize(done, FOREVER));
      CHECK(zeEventHostReset(done));
      expect(a, b, scale);
    }
    CHECK(zeCommandListDestroy(list));
    CHECK(zeEventDestroy(done));
    CHECK(zeEventPoolDestroy(pool));
  }

  void on_shared_queue(ze_kernel_handle_t kernel, const ze_group_count_t& groups, float* a, float* b) const {
    ze_fence_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_fence_handle_t fence = nullptr;
    CHECK(zeFenceCreate(shared_queue, &desc, &fence));
    ze_command_list_handle_t list = make_list(s, 0);
    for (int round = 0; round < kShared; ++round) {
      float scale = static_cast<float>(-number - round);
      ARGUMENT(kernel, 3, scale);
      CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, nullptr, 0, nullptr));
      CHECK(zeCommandListClose(list));
      CHECK(zeCommandQueueExecuteCommandLists(shared_queue, 1, &list, fence));
      CHECK(zeFenceHostSynchronize(fence, FOREVER));
      CHECK(zeFenceReset(fence));
      CHECK(zeCommandListReset(list));
      expect(a, b, scale);
    }
    CHECK(zeCommandListDestroy(list));
    CHECK(zeFenceDestroy(fence));
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  setup_t s = set_up();
  ze_module_handle_t module = load_module(s, argv[1]);
  ze_command_queue_handle_t queue = make_queue(s, 0);
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) threads.emplace_back(Worker{s, module, queue, number});
  for (std::thread& thread : threads) thread.join();
  prove(wrong == 0, "%d threads, %d launches each on a list of their own and %d on a shared queue, %d values wrong", kThreads,
        kRounds, kShared, wrong.load());
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeModuleDestroy(module));
  CHECK(zeContextDestroy(s.context));
}
