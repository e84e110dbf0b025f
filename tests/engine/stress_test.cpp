// Eight threads, ten thousand operations each: objects made and destroyed, memory taken and given back, commands on lists of their
// own and on lists and queues that all of them share.
#include "scene.h"

using namespace scene;

namespace {

constexpr int kThreads = 8;
constexpr int kOperations = 10'000;
constexpr size_t kRoom = 4096;

struct Shared {
  Scene& scene;
  ze_command_queue_handle_t queues[2];
  ze_command_list_handle_t lists[2];
  ze_event_handle_t counter;
  unsigned char* source;
};

// What one thread owns. Every byte it writes through the device lies in `room`, so it knows what must be there.
class Worker {
 public:
  Worker(Shared& shared, int index)
      : shared_(shared), scene_(shared.scene), random_(static_cast<unsigned>(index)), room_(scene_.memory(kRoom)) {
    for (uint32_t ordinal : {kCompute, kCopy}) {
      own_[ordinal] = scene_.immediate(ordinal, index % 2 ? ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS : ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
      recorded_[ordinal] = scene_.list(ordinal);
    }
    pool_ = scene_.pool(4, ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    event_ = Scene::event(pool_, 0);
  }

  ~Worker() {
    for (uint32_t ordinal : {kCompute, kCopy}) {
      OK(zeCommandListHostSynchronize(own_[ordinal], kSoon));
      OK(zeCommandListDestroy(own_[ordinal]));
      OK(zeCommandListDestroy(recorded_[ordinal]));
    }
    OK(zeEventDestroy(event_));
    OK(zeEventPoolDestroy(pool_));
    for (void* memory : taken_) scene_.free(memory);
    scene_.free(room_);
  }

  void operate() {
    ordinal_ = pick(2);
    value_ = static_cast<unsigned char>(1 + pick(255));
    switch (pick(14)) {
      case 0:
        return take_or_give_memory();
      case 1:
        return new_event();
      case 2:
        return new_list();
      case 3:
        return ask_about_memory();
      case 4:
        return host_signal();
      case 5:
        return bad_calls();
      case 6:
        return on_shared_queue();
      case 7:
      case 8:
        return on_shared_list();
      case 9:
        return between_engines();
      case 10:
        return count();
      default:
        return on_own_list();
    }
  }

 private:
  uint32_t pick(uint32_t below) { return random_() % below; }

  void take_or_give_memory() {
    if (taken_.size() > 8) {
      scene_.free(taken_.back());
      taken_.pop_back();
    } else {
      size_t size = size_t{1} << pick(18);
      auto* memory = scene_.memory(size);
      memory[0] = memory[size - 1] = value_;
      taken_.push_back(memory);
    }
  }

  void new_event() {
    // A place in the pool that nothing else uses: the last one's signal may still be on its way there.
    ze_event_handle_t event = Scene::event(pool_, 3);
    barrier(own_[ordinal_], event);
    if (pick(2)) OK(zeEventHostSynchronize(event, kSoon));
    OK(zeEventDestroy(event));  // perhaps while the device still has to signal it
  }

  void new_list() {
    ze_command_list_handle_t list = scene_.immediate(ordinal_);
    fill(list, room_, value_, 64, event_);
    OK(zeCommandListDestroy(list));  // perhaps while it runs; whoever waits for the event may still help it
    OK(zeEventHostSynchronize(event_, kSoon));
    assert(all(room_, value_, 64));
    OK(zeEventHostReset(event_));
  }

  void ask_about_memory() {
    ze_memory_allocation_properties_t properties = {};
    properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
    OK(zeMemGetAllocProperties(scene_.context, room_ + pick(kRoom), &properties, nullptr));
    assert(properties.type == ZE_MEMORY_TYPE_HOST);
    void* base;
    size_t size;
    OK(zeMemGetAddressRange(scene_.context, room_ + pick(kRoom), &base, &size));
    assert(base == room_ && size == kRoom);
  }

  void host_signal() {
    OK(zeEventHostSignal(event_));
    fill(own_[ordinal_], room_, value_, 32, nullptr, {event_});
    OK(zeCommandListHostSynchronize(own_[ordinal_], kSoon));
    assert(all(room_, value_, 32));
    OK(zeEventHostReset(event_));
  }

  void bad_calls() {
    assert(zeEventDestroy(nullptr) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
    assert(zeMemFree(scene_.context, room_ + 1) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
    assert(zeCommandListClose(reinterpret_cast<ze_command_list_handle_t>(event_)) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
    const char* text;
    OK(zeDriverGetLastErrorDescription(scene_.driver, &text));
    assert(std::strstr(text, "zeCommandListClose"));
  }

  void on_shared_queue() {
    ze_command_list_handle_t list = recorded_[ordinal_];
    OK(zeCommandListReset(list));
    for (int i = 0; i < 5; ++i) fill(list, room_ + 64 * i, static_cast<unsigned char>(value_ + i), 64);
    copy(list, room_ + 1024, room_, 320);
    OK(zeCommandListClose(list));
    ze_fence_handle_t fence = scene_.fence(shared_.queues[ordinal_]);
    OK(zeCommandQueueExecuteCommandLists(shared_.queues[ordinal_], 1, &list, fence));
    OK(zeFenceHostSynchronize(fence, kSoon));
    OK(zeFenceDestroy(fence));
    for (int i = 0; i < 5; ++i) assert(all(room_ + 1024 + 64 * i, static_cast<unsigned char>(value_ + i), 64));
  }

  void on_shared_list() {
    copy(shared_.lists[ordinal_], room_, shared_.source, 256);
    fill(shared_.lists[ordinal_], room_ + 256, value_, 256, event_);
    OK(zeEventHostSynchronize(event_, kSoon));
    assert(all(room_, 0x55, 256) && all(room_ + 256, value_, 256));
    OK(zeEventHostReset(event_));
  }

  // Compute fills, copy waits for it and copies, the host waits for that.
  void between_engines() {
    ze_event_handle_t done = Scene::event(pool_, 1 + pick(2));
    fill(own_[ordinal_], room_, value_, 128, event_);
    copy(own_[1 - ordinal_], room_ + 512, room_, 128, done, {event_});
    OK(zeEventHostSynchronize(done, kSoon));
    assert(all(room_ + 512, value_, 128));
    ze_kernel_timestamp_result_t first, second;
    OK(zeEventQueryKernelTimestamp(event_, &first));
    OK(zeEventQueryKernelTimestamp(done, &second));
    assert(first.global.kernelEnd <= second.global.kernelStart);
    OK(zeEventDestroy(done));
    OK(zeEventHostReset(event_));
  }

  void count() {
    barrier(shared_.lists[ordinal_], shared_.counter);
    if (pick(4) == 0) OK(zeEventHostSynchronize(shared_.counter, kSoon));
  }

  void on_own_list() {
    size_t size = 1 + pick(kRoom / 2);
    fill(own_[ordinal_], room_, value_, size);
    copy(own_[ordinal_], room_ + kRoom / 2, room_, size);
    if (pick(4)) {
      OK(zeCommandListHostSynchronize(own_[ordinal_], kSoon));
      assert(all(room_ + kRoom / 2, value_, size));
    } else {
      barrier(own_[ordinal_], event_);
      OK(zeEventHostSynchronize(event_, kSoon));
      OK(zeEventHostReset(event_));
    }
  }

  Shared& shared_;
  Scene& scene_;
  std::mt19937 random_;
  unsigned char* room_;
  ze_command_list_handle_t own_[2], recorded_[2];
  ze_event_pool_handle_t pool_;
  ze_event_handle_t event_;
  std::vector<void*> taken_;
  uint32_t ordinal_ = 0;
  unsigned char value_ = 0;
};

void test() {
  Scene scene;
  Shared shared{scene,
                {scene.queue(kCompute), scene.queue(kCopy)},
                {scene.immediate(kCompute), scene.immediate(kCopy)},
                scene.counter(),
                scene.memory(256)};
  std::memset(shared.source, 0x55, 256);
  threads(kThreads, [&](int index) {
    Worker worker(shared, index);
    for (int i = 0; i < kOperations; ++i) worker.operate();
  });
  for (uint32_t ordinal : {kCompute, kCopy}) {
    OK(zeCommandListHostSynchronize(shared.lists[ordinal], kSoon));
    OK(zeCommandQueueSynchronize(shared.queues[ordinal], kSoon));
  }
  OK(zeEventHostSynchronize(shared.counter, kSoon));
  OK(zeDeviceSynchronize(scene.device));
}

}  // namespace

int main() {
  also_handed_over(test);
  std::puts("stress_test: ok");
  return 0;
}
