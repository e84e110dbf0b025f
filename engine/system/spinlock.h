// A spin lock for a few instructions; its holder never sleeps or waits.
#pragma once

#include <sched.h>

#include <atomic>

namespace anyzero {

// A full barrier: earlier writes are visible to all threads before later reads. Written as an instruction, because the thread
// sanitizer refuses std::atomic_thread_fence; on the thread's own stack, so that no cache line is shared.
inline void full_barrier() { __asm__ volatile("lock orl $0, (%%rsp)" ::: "memory", "cc"); }

class SpinLock {
 public:
  bool try_lock() { return !held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire); }
  void lock() {
    for (unsigned tries = 0; !try_lock(); ++tries) {
      if (tries < 64) {
        __builtin_ia32_pause();
      } else {
        sched_yield();  // the holder may have been preempted
      }
    }
  }
  // Earlier writes of this thread are visible to all threads before the result is read.
  bool held_now() const {
    full_barrier();
    return held_.load(std::memory_order_seq_cst);
  }
  void unlock() { held_.store(false, std::memory_order_release); }
  // Later reads of this thread come after the lock is visibly free.
  void unlock_then_look() { held_.exchange(false, std::memory_order_seq_cst); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace anyzero
