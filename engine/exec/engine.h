// An engine of a device: threads that walk the rings of the queues bound to it, urgent ones first. Most engines have one thread;
// with several, any of them takes the next ring, and a ring is still walked by one at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "mutex.h"
#include "ring.h"

namespace anyzero {

inline constexpr uint32_t kPriorities = 4;  // 0 is the most urgent, the last is for work in the background

// Threading: submit from any thread; the rest is the engine threads' own. They start with the first ring handed over.
class Engine {
 public:
  explicit Engine(uint32_t threads = 1);

  // `ring` has work that this thread must see to.
  void submit(Ring& ring);

  // Nanoseconds that rings which are gone had been busy.
  uint64_t past_busy() const { return past_busy_.load(std::memory_order_relaxed); }
  void keep_busy(uint64_t ns) { past_busy_.fetch_add(ns, std::memory_order_relaxed); }

  bool has_thread() const { return started_.load(std::memory_order_acquire); }

  // Another ring of this urgency or more is waiting.
  bool has_ready(uint32_t priority) const {
    for (uint32_t i = 0; i <= priority; ++i)
      if (ready_[i].load(std::memory_order_relaxed) || runnable_count_[i].load(std::memory_order_relaxed)) return true;
    return false;
  }
  // Something more urgent than `priority` is waiting.
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
  void run_ring(Ring* ring);
  void park(Ring* ring, Blocker blocker);
  void revive_parked();
  bool any_ready() const;
  void wake_one();
  void rest();
  // Held by an engine thread while it looks at what the threads share; one alone needs no lock.
  std::unique_lock<Mutex> share() { return threads_ > 1 ? std::unique_lock(mutex_) : std::unique_lock<Mutex>(); }

  const uint32_t threads_;
  std::atomic<Ring*> ready_[kPriorities] = {};  // stacks; newest first
  std::atomic<uint32_t> doorbell_{0};
  std::atomic<uint32_t> asleep_{0};
  std::atomic<bool> ringing_{false};  // somebody who sleeps has been called and is on his way
  std::atomic<bool> started_{false};
  std::atomic<uint64_t> past_busy_{0};

  // The engine threads' own, oldest first.
  Mutex mutex_;
  std::vector<Ring*> runnable_[kPriorities];
  std::atomic<uint32_t> runnable_count_[kPriorities] = {};
  std::vector<Parked> parked_;  // but for those that a thread at rest watches
};

}  // namespace anyzero
