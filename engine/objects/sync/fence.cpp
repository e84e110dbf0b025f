#include "fence.h"

#include "../../exec/wait.h"

namespace anyzero {

ze_result_t Fence::create(CommandQueue& queue, const ze_fence_desc_t* desc, ze_fence_handle_t* handle) {
  *handle = handle_of<ze_fence_handle_t>(make(queue, (desc->flags & ZE_FENCE_FLAG_SIGNALED) != 0));
  return ZE_RESULT_SUCCESS;
}

ze_result_t Fence::destroy() {
  retire();
  return ZE_RESULT_SUCCESS;
}

ze_result_t Fence::hostSynchronize(uint64_t timeout) {
  Ring* ring = ring_.load(std::memory_order_relaxed);
  switch (host_wait(signal_, 1, timeout, {"fence", this}, ring, position_.load(std::memory_order_relaxed))) {
    case Signal::State::Reached:
      return ZE_RESULT_SUCCESS;
    case Signal::State::Failed:
      return ring->tell_lost();
    default:
      return ZE_RESULT_NOT_READY;
  }
}

ze_result_t Fence::queryStatus() { return hostSynchronize(0); }

ze_result_t Fence::reset() {
  signal_.reset();
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
