// An engine of a device: threads that walk the rings of the queues bound to it, urgent ones first. Most engines have one thread;
// with several, any of them takes the next ring, and a ring is still walked by one at a time.
//
// A kernel, or a program's host function, may never end. So an engine with a single thread has a deputy thread: if the thread in
// charge stays inside one ring while others wait, the deputy takes charge of the engine, and the relieved thread becomes the next
// deputy when it returns.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "../system/mutex.h"
#include "ring.h"

namespace anyzero {

inline constexpr uint32_t kPriorities = 4;  // 0 is the most urgent, the last is for work in the background

// Threading: submit from any thread; the rest is the engine threads' own. They start with the first ring handed over.
class Engine {
 public:
  // `number` has the ordinal of its group in the low and its index in the high 32 bits.
  explicit Engine(uint32_t threads = 1, uint64_t number = 0);

  uint64_t number() const { return number_; }

  // Queues a ring that has work for an engine thread.
  void submit(Ring& ring);

  // Busy nanoseconds of rings that were destroyed.
  uint64_t past_busy() const { return past_busy_.load(std::memory_order_relaxed); }
  void keep_busy(uint64_t ns) { past_busy_.fetch_add(ns, std::memory_order_relaxed); }

  bool has_thread() const { return started_.load(std::memory_order_acquire); }

  // True if another ring of this priority or a higher one is waiting.
  bool has_ready(uint32_t priority) const {
    for (uint32_t i = 0; i <= priority; ++i)
      if (ready_[i].load(std::memory_order_relaxed) || runnable_count_[i].load(std::memory_order_relaxed)) return true;
    return false;
  }
  // True if a ring of a higher priority is waiting.
  bool outranked(uint32_t priority) const { return priority > 0 && has_ready(priority - 1); }

 private:
  struct Parked {
    Ring* ring;  // held
    Blocker blocker;
  };

  static void* thread_main(void* engine);
  static void after_fork();
  void start();
  void run();
  void collect();
  Ring* next();
  // False if another thread has taken charge meanwhile.
  bool run_ring(Ring* ring, bool others_wait);
  void park(Ring* ring, Blocker blocker);
  void revive_parked();
  bool any_ready() const;
  void wake_one();
  void rest();

  // Relief: engine_relief.cpp. Engines with several threads have none: inferences end.
  static void* deputy_main(void* engine);
  bool has_deputies() const { return threads_ == 1; }
  void alarm();
  // Run by the deputy; returns when it has taken charge.
  void stand_by();
  bool take_charge(uint64_t seen);
  // Makes a relieved thread the deputy; false if there is one already.
  bool become_deputy();
  bool work_waits() const { return has_ready(kPriorities - 1) || parked_count_.load(std::memory_order_relaxed); }
  uint64_t enter() { return charge_.fetch_add(1, std::memory_order_seq_cst) + 1; }
  bool leave(uint64_t entered) { return charge_.compare_exchange_strong(entered, entered + 1, std::memory_order_seq_cst); }

  const uint32_t threads_;
  const uint64_t number_;
  std::atomic<Ring*> ready_[kPriorities] = {};  // stacks; newest first
  std::atomic<uint32_t> doorbell_{0};
  std::atomic<uint32_t> asleep_{0};
  std::atomic<bool> ringing_{false};  // a sleeping thread was woken and does not run yet
  std::atomic<bool> started_{false};
  std::atomic<uint64_t> past_busy_{0};

  // Incremented when the thread in charge begins and when it ends to walk a ring: odd while it is inside one. A deputy takes charge
  // by incrementing it.
  std::atomic<uint64_t> charge_{0};
  std::atomic<uint32_t> alarm_{0};     // 1: work waits; the deputy measures how long
  std::atomic<bool> deputy_{false};    // there is one
  std::atomic<uint32_t> relieved_{0};  // relieved threads that have not returned yet

  // The engine threads' own, oldest first.
  Mutex mutex_;
  std::vector<Ring*> runnable_[kPriorities];
  std::atomic<uint32_t> runnable_count_[kPriorities] = {};
  std::vector<Parked> parked_;  // except those that a sleeping thread watches
  std::atomic<uint32_t> parked_count_{0};
};

}  // namespace anyzero
