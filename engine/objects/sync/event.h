// An event: one signal, binary or counting, with timestamps.
#pragma once

#include <atomic>

#include "../../abi/handle.h"
#include "../../exec/packet.h"
#include "../../system/signal.h"
#include "../../system/spinlock.h"
#include "event_pool.h"

namespace anyzero {

class Ring;
class Capture;

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

  // An event that uses the signal at the start of a file, which other processes may raise. Adopts the descriptor.
  static Ref<Event> counting_over(Context& context, int fd);

  Signal& signal() const { return *signal_; }
  Context& context() const { return pool_->context(); }
  Driver& driver() const { return context().driver(); }
  const EventPool& pool() const { return *pool_; }
  // True if other processes may signal it.
  bool shared() const { return shared_ || imported_ || (pool_->flags() & ZE_EVENT_POOL_FLAG_IPC); }
  uint32_t signal_scope() const { return signal_scope_; }
  uint32_t wait_scope() const { return wait_scope_; }
  bool timed() const { return timed_; }
  bool counts() const { return counts_; }
  // The active capture that recorded a signal of this event.
  Capture* capture() const { return capture_.load(std::memory_order_acquire); }
  // A counting event that a graph uses for itself alone: nothing outside sees its signals.
  bool internal_to_graphs() const { return counts_ && !(counter_flags_ & ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL); }

  // The current position of a counting event, with a reference to its ring; no ring if nothing signals it.
  Point counting_point() { return counts_ && !imported_ ? point() : Point{}; }

  // The wait of a command that is appended now, with a reference: this event, or the current position of a counting one.
  WaitFor wait_from_now();
  // The wait of a recorded command, with a reference: each execution resolves it.
  WaitFor wait_when_executed() {
    retain();
    return {this, {}};
  }

  // The command at `position` of `ring` signals this event. That is the new position of a counting event. For a binary one it is
  // only a hint where waiting threads can help; the ring may be destroyed by then.
  void track(Ring& ring, uint64_t position) {
    if (counts_) return move_to(ring, position);
    // A thread that reads the hint meanwhile finds no ring, see hint(): a lock would cost every command that signals.
    std::atomic_ref<Ring*> where(point_.ring);
    where.store(nullptr, std::memory_order_relaxed);
    std::atomic_ref(point_.position).store(position, std::memory_order_release);
    where.store(&ring, std::memory_order_release);
  }

  // The command that signals this event is done; it began at `start`.
  void complete(uint64_t start) {
    if (timed_) stamp(start);
    if (!counts_) {
      signal_->set(1);
    } else if (shared_) {
      signal_->advance();
    }
  }

  // The command that should have signalled this event will never run. For a counting event, the ring itself fails.
  void forsake() {
    if (!counts_ || shared_) signal_->fail();
  }

  ze_kernel_timestamp_result_t timestamps() const;

  Event(Ref<EventPool> pool, uint32_t index, uint32_t signal_scope, uint32_t wait_scope);
  ~Event();

 private:
  friend class Capture;
  void die();
  // The position, with a reference to its ring; no ring if there is none, or it is destroyed.
  Point point();
  // The last hint of a binary event; its ring may be destroyed, and is not held.
  Point hint();
  void move_to(Ring& ring, uint64_t position);
  // DEVICE_LOST, with the report of the loss as this thread's error text.
  ze_result_t tell_failed() const;
  void stamp(uint64_t start);
  ze_result_t refuse_counting(const char* what) const;

  Ref<EventPool> pool_;
  Signal own_signal_{};
  Signal* signal_;  // its own, or its place in a shared pool
  uint32_t index_;
  uint32_t signal_scope_;
  uint32_t wait_scope_;
  uint32_t counter_flags_ = 0;
  bool timed_;
  bool counts_;
  bool standalone_ = false;  // made without a pool of the program's own
  bool imported_ = false;
  bool shared_ = false;  // a counting event that other processes wait for, by its own counter: what it promises, and what it has

  SpinLock point_lock_;
  Point point_{};  // held and under the lock if counting, else a hint
  std::atomic<uint64_t> promised_{0};
  std::atomic<Capture*> capture_{nullptr};
};

// True for waits of recorded packets whose target each execution resolves.
inline bool settled_at_execution(const WaitFor& recorded) {
  return recorded.event ? recorded.event->counts() : GraphPlace::is_awaited_by(recorded);
}

}  // namespace anyzero
