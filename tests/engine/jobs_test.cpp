// The compute queues of an NPU: what is submitted at once is a job, jobs run side by side, and urgent ones go first.
#include <algorithm>

#include "scene.h"
#include "ze_npu_ext.h"

using namespace scene;

namespace {

struct Npu {
  ze_driver_handle_t driver = nullptr;
  ze_device_handle_t device = nullptr;
  ze_context_handle_t context = nullptr;
  ze_command_queue_npu_dditable_ext_t* queues = nullptr;

  bool find() {
    ze_init_driver_type_desc_t wanted{ZE_STRUCTURE_TYPE_INIT_DRIVER_TYPE_DESC, nullptr, ZE_INIT_DRIVER_TYPE_FLAG_NPU};
    uint32_t count = 1;
    OK(zeInitDrivers(&count, &driver, &wanted));
    if (count == 0) return false;
    count = 1;
    OK(zeDeviceGet(driver, &count, &device));
    ze_context_desc_t desc{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    OK(zeContextCreate(driver, &desc, &context));
    OK(zeDriverGetExtensionFunctionAddress(driver, ZE_COMMAND_QUEUE_NPU_EXT_NAME, reinterpret_cast<void**>(&queues)));
    return true;
  }

  ze_command_queue_handle_t queue(ze_command_queue_priority_t priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL, uint32_t options = 0) {
    ze_command_queue_desc_npu_ext_2_t npu{ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC_NPU_EXT_2, nullptr, options};
    ze_command_queue_desc_t desc{ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, &npu, 0, 0, 0, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS, priority};
    ze_command_queue_handle_t queue;
    OK(zeCommandQueueCreate(context, device, &desc, &queue));
    return queue;
  }

  ze_command_list_handle_t list() {
    ze_command_list_desc_t desc{ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0, 0};
    ze_command_list_handle_t list;
    OK(zeCommandListCreate(context, device, &desc, &list));
    return list;
  }

  ze_fence_handle_t fence(ze_command_queue_handle_t queue) {
    ze_fence_desc_t desc{ZE_STRUCTURE_TYPE_FENCE_DESC, nullptr, 0};
    ze_fence_handle_t fence;
    OK(zeFenceCreate(queue, &desc, &fence));
    return fence;
  }
};

// A list whose only command calls a function on an engine thread.
struct Job {
  ze_command_list_handle_t list;
  std::function<void()> work;

  Job(Npu& npu, std::function<void()> todo) : list(npu.list()), work(std::move(todo)) {
    OK(zeCommandListAppendHostFunction(
        list, [](void* self) { static_cast<Job*>(self)->work(); }, this, nullptr, nullptr, 0, nullptr));
    OK(zeCommandListClose(list));
  }
  Job(const Job&) = delete;
  ~Job() { OK(zeCommandListDestroy(list)); }

  void submit(ze_command_queue_handle_t queue, ze_fence_handle_t fence = nullptr) {
    OK(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
  }
};

uint32_t engine_threads() { return static_cast<uint32_t>(anyzero::settings.threads); }

// The first job ends only when the second has begun.
void side_by_side(Npu& npu) {
  if (engine_threads() < 2) return;
  ze_command_queue_handle_t queue = npu.queue();
  std::atomic<bool> begun{false};
  Job first(npu, [&] {
    while (!begun) std::this_thread::yield();
  });
  Job second(npu, [&] { begun = true; });
  for (int round = 0; round < 50; ++round) {
    begun = false;
    first.submit(queue);
    second.submit(queue);
    OK(zeCommandQueueSynchronize(queue, kSoon));
  }
  OK(zeCommandQueueDestroy(queue));
}

// The same on a queue that keeps its order would hang, so there it is the other way round.
void in_order(Npu& npu) {
  ze_command_queue_handle_t queue = npu.queue(ZE_COMMAND_QUEUE_PRIORITY_NORMAL, ZE_NPU_COMMAND_QUEUE_OPTION_DEVICE_SYNC);
  std::vector<int> seen;
  std::vector<std::unique_ptr<Job>> jobs;
  for (int i = 0; i < 100; ++i) jobs.push_back(std::make_unique<Job>(npu, [&seen, i] { seen.push_back(i); }));
  for (auto& job : jobs) job->submit(queue);
  OK(zeCommandQueueSynchronize(queue, kSoon));
  assert(seen.size() == 100 && std::is_sorted(seen.begin(), seen.end()));
  OK(zeCommandQueueDestroy(queue));
}

// While all threads are held up, jobs of every urgency gather; then a single thread runs them in its order: of two, one might be
// interrupted with a job in its hands.
void urgent_first(Npu& npu) {
  ze_command_queue_handle_t high = npu.queue(ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH), normal = npu.queue(),
                            low = npu.queue(ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW), background = npu.queue();
  OK(npu.queues->pfnSetWorkloadType(background, ZE_WORKLOAD_TYPE_BACKGROUND));
  std::atomic<uint32_t> held{0};
  std::atomic<bool> go{false}, all_go{false};
  std::vector<std::unique_ptr<Job>> jobs;
  for (uint32_t i = 0; i < engine_threads(); ++i) {
    jobs.push_back(std::make_unique<Job>(npu, [&, i] {
      ++held;
      while (!(i == 0 ? go : all_go)) std::this_thread::yield();
    }));
    jobs.back()->submit(normal);
  }
  while (held < engine_threads()) std::this_thread::yield();
  constexpr int kJobs = 16;
  std::vector<int> seen;
  seen.reserve(kJobs);
  std::atomic<int> done{0};
  int rank = 3;
  for (ze_command_queue_handle_t queue : {background, low, normal, high}) {
    for (int i = 0; i < kJobs / 4; ++i) {
      jobs.push_back(std::make_unique<Job>(npu, [&, rank] {
        seen.push_back(rank);
        ++done;
      }));
      jobs.back()->submit(queue);
    }
    --rank;
  }
  go = true;
  // A thread that waits in the driver would run jobs as well.
  while (done < kJobs) std::this_thread::yield();
  all_go = true;
  for (ze_command_queue_handle_t queue : {background, low, normal, high}) OK(zeCommandQueueSynchronize(queue, kSoon));
  assert(seen.size() == kJobs && std::is_sorted(seen.begin(), seen.end()));
  for (ze_command_queue_handle_t queue : {background, low, normal, high}) OK(zeCommandQueueDestroy(queue));
}

// Many threads on one queue, each with a fence of its own.
void many_submitters(Npu& npu) {
  ze_command_queue_handle_t queue = npu.queue();
  std::atomic<uint32_t> count{0};
  constexpr int kThreads = 4, kRounds = 200;
  threads(kThreads, [&](int) {
    Job job(npu, [&] { ++count; });
    ze_fence_handle_t fence = npu.fence(queue);
    for (int i = 0; i < kRounds; ++i) {
      const uint32_t before = count;
      job.submit(queue, fence);
      OK(zeFenceHostSynchronize(fence, kSoon));
      assert(count > before);
      OK(zeFenceReset(fence));
    }
    OK(zeFenceDestroy(fence));
  });
  assert(count == kThreads * kRounds);
  OK(zeCommandQueueDestroy(queue));
}

// A job that waits for an event occupies no thread, whichever thread has to notice that the event is there.
void waiting_jobs(Npu& npu) {
  ze_event_pool_desc_t pool_desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 40};
  ze_event_pool_handle_t pool;
  OK(zeEventPoolCreate(npu.context, &pool_desc, 1, &npu.device, &pool));
  ze_command_queue_handle_t queue = npu.queue();
  std::vector<ze_event_handle_t> gates(40);
  std::vector<ze_command_list_handle_t> lists;
  std::atomic<uint32_t> passed{0};
  for (uint32_t i = 0; i < gates.size(); ++i) {
    ze_event_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, i, 0, 0};
    OK(zeEventCreate(pool, &desc, &gates[i]));
    lists.push_back(npu.list());
    OK(zeCommandListAppendHostFunction(
        lists[i], [](void* to) { ++*static_cast<std::atomic<uint32_t>*>(to); }, &passed, nullptr, nullptr, 1, &gates[i]));
    OK(zeCommandListClose(lists[i]));
  }
  for (int round = 0; round < 10; ++round) {
    passed = 0;
    for (auto& list : lists) OK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
    if (round % 2) sleep_ms(2);
    std::shuffle(gates.begin(), gates.end(), std::mt19937(static_cast<unsigned>(round)));
    for (ze_event_handle_t gate : gates) OK(zeEventHostSignal(gate));
    OK(zeCommandQueueSynchronize(queue, kSoon));
    assert(passed == gates.size());
    for (ze_event_handle_t gate : gates) OK(zeEventHostReset(gate));
  }
  for (auto& list : lists) OK(zeCommandListDestroy(list));
  for (ze_event_handle_t gate : gates) OK(zeEventDestroy(gate));
  OK(zeCommandQueueDestroy(queue));
  OK(zeEventPoolDestroy(pool));
}

}  // namespace

int main() {
  Npu npu;
  if (!npu.find()) {
    std::printf("jobs_test: NOT TESTED, the description has no NPU: OpenVINO was not installed where it was written\n");
    return 0;
  }
  show_objects_to_leak_detector(npu.context);
  side_by_side(npu);
  in_order(npu);
  urgent_first(npu);
  many_submitters(npu);
  waiting_jobs(npu);
  OK(zeContextDestroy(npu.context));
  std::printf("jobs_test: ok\n");
  return 0;
}
