// An engine of a device: one thread that walks the rings of the queues bound to it, urgent ones first.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "ring.h"

namespace anyzero {

inline constexpr uint32_t kPriorities = 3;  // 0 is the most urgent

// Threading: submit from any thread; the rest is the engine thread's own. The thread starts with the first ring handed over.
class Engine {
 public:
  Engine();

  // `ring` has work that this thread must see to.
  void submit(Ring& ring);

  // Nanoseconds that rings which are gone had been busy.
  uint64_t past_busy() const { return past_busy_.load(std::memory_order_relaxed); }
  void keep_busy(uint64_t ns) { past_busy_.fetch_add(ns, std::memory_order_relaxed); }

  bool has_thread() const { return started_.load(std::memory_order_acquire); }

  // Another ring of this urgency or more is waiting. For the engine thread.
  bool has_ready(uint32_t priority) const {
    for (uint32_t i = 0; i <= priority; ++i)
      if (ready_[i].load(std::memory_order_relaxed) || !runnable_[i].empty()) return true;
    return false;
  }
  // Something more urgent than `priority` is waiting.
  bool outranked(uint32_t priority) const { return priority > 0 && has_ready(priority - 1); }

 private:
  static void* thread_main(void* engine);
  static void after_fork();
  void run();
  bool collect();
  Ring* next();
  void run_ring(Ring* ring);
  void park(Ring* ring, Blocker blocker);
  void revive_parked();
  bool any_ready() const;
  void rest();

  std::atomic<Ring*> ready_[kPriorities] = {};  // stacks; newest first
  std::atomic<uint32_t> doorbell_{0};
  std::atomic<bool> asleep_{false};
  std::atomic<bool> started_{false};
  std::atomic<uint64_t> past_busy_{0};

  // The engine thread's own, oldest first.
  std::vector<Ring*> runnable_[kPriorities];
  struct Parked {
    Ring* ring;  // held
    Blocker blocker;
  };
  std::vector<Parked> parked_;
};

}  // namespace anyzero
