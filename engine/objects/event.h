// An event: one signal, binary or counting, and what it remembers of time.
#pragma once

#include <atomic>

#include "../abi/handle.h"
#include "../exec/signal.h"
#include "event_pool.h"

namespace anyzero {

class Ring;

// Threading: any thread.
class Event : public Object<Event, Kind::Event> {
 public:
  static ze_result_t create(EventPool& pool, const ze_event_desc_t* desc, ze_event_handle_t* handle);
  static ze_result_t counterBasedCreate(Context& context, Device& device, const ze_event_counter_based_desc_t* desc,
                                        ze_event_handle_t* handle);
  ze_result_t destroy();
  ze_result_t hostSignal();
  ze_result_t hostSynchronize(uint64_t timeout);
  ze_result_t queryStatus();
  ze_result_t hostReset();
  ze_result_t queryKernelTimestamp(ze_kernel_timestamp_result_t* result);
  ze_result_t queryKernelTimestampsExt(Device& device, uint32_t* count,
                                       ze_event_query_kernel_timestamps_results_ext_properties_t* results);
  ze_result_t queryTimestampsExp(Device& device, uint32_t* count, ze_kernel_timestamp_result_t* results);
  ze_result_t getEventPool(ze_event_pool_handle_t* handle);
  ze_result_t getSignalScope(ze_event_scope_flags_t* scope);
  ze_result_t getWaitScope(ze_event_scope_flags_t* scope);
  ze_result_t getCounterBasedFlags(ze_event_counter_based_flags_t* flags);
  ze_result_t counterBasedGetIpcHandle(ze_ipc_event_counter_based_handle_t* handle);
  static ze_result_t counterBasedOpenIpcHandle(Context& context, ze_ipc_event_counter_based_handle_t ipc,
                                               ze_event_handle_t* handle);
  ze_result_t counterBasedCloseIpcHandle();
  ze_result_t counterBasedGetDeviceAddress(uint64_t* completion_value, uint64_t* device_address);

  Signal& signal() const { return *signal_; }
  bool timed() const { return timed_; }
  bool counts() const { return counts_; }

  // What a wait appended now waits for. A counting event that nothing will signal counts as complete.
  uint64_t target() const { return counts_ ? promised_.load(std::memory_order_acquire) : 1; }
  // One more signal of a counting event is on its way.
  void promise() {
    if (signal_->value.load(std::memory_order_relaxed) & Signal::kFailed) signal_->value.fetch_and(~Signal::kFailed);
    promised_.fetch_add(1, std::memory_order_acq_rel);
  }

  // Whoever waits for this event can help `ring` along, up to `position`. Only a hint: the ring may be gone when it is looked at.
  void comes_from(Ring* ring, uint64_t position) {
    source_position_.store(position, std::memory_order_relaxed);
    source_.store(ring, std::memory_order_release);
  }

  // The command that signals this event is done; it began at `start`.
  void complete(uint64_t start) {
    if (timed_) stamp(start);
    if (counts_) {
      signal_->advance();
    } else {
      signal_->set(1);
    }
  }

  // The command that should have signalled this event will never run. A lost signal counts too, or later ones would fall short.
  void forsake() {
    if (counts_) signal_->value.fetch_add(1, std::memory_order_acq_rel);
    signal_->fail();
  }

  ze_kernel_timestamp_result_t timestamps() const;

  Event(Ref<EventPool> pool, uint32_t index, uint32_t signal_scope, uint32_t wait_scope);
  ~Event();

  // DEVICE_LOST, with what is known of the loss as this thread's error text.
  ze_result_t tell_failed() const;

 private:
  void stamp(uint64_t start);
  ze_result_t refuse_counting(const char* what) const;

  Ref<EventPool> pool_;
  Signal* signal_;
  uint32_t index_;
  uint32_t signal_scope_;
  uint32_t wait_scope_;
  uint32_t counter_flags_ = 0;
  bool timed_;
  bool counts_;
  bool standalone_ = false;  // made without a pool of the program's own
  bool imported_ = false;
  std::atomic<uint64_t> promised_{0};
  std::atomic<Ring*> source_{nullptr};
  std::atomic<uint64_t> source_position_{0};
};

}  // namespace anyzero
