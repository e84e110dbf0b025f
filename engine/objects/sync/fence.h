// A fence: tells the host that a queue has completed a submission.
#pragma once

#include <atomic>

#include "../../abi/handle.h"
#include "../../system/signal.h"
#include "../commands/command_queue.h"

namespace anyzero {

// Threading: any thread.
class Fence : public Object<Fence, Kind::Fence> {
 public:
  static ze_result_t create(CommandQueue& queue, const ze_fence_desc_t* desc, ze_fence_handle_t* handle);
  ze_result_t destroy();
  ze_result_t hostSynchronize(uint64_t timeout);
  ze_result_t queryStatus();
  ze_result_t reset();

  Signal& signal() { return signal_; }
  // The command at `position` of a ring signals this fence: waiting threads help up to it.
  void comes_at(Ring& ring, uint64_t position) {
    ring_.store(&ring, std::memory_order_relaxed);
    position_.store(position, std::memory_order_relaxed);
  }
  CommandQueue& queue() const { return *queue_; }

  Fence(CommandQueue& queue, bool signalled) : queue_(&queue) { signal_.value.store(signalled ? 1 : 0); }

 private:
  Ref<CommandQueue> queue_;
  std::atomic<Ring*> ring_{nullptr};  // none before the first submission
  std::atomic<uint64_t> position_{0};
  Signal signal_{};
};

}  // namespace anyzero
