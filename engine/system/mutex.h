// Fork-safe locks: in the child, a lock that a thread of the parent held is free, because that thread does not exist there.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>

#include "signal.h"
#include "thread.h"

namespace anyzero {

class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() {
    uint32_t free = 0;
    if (!state_.compare_exchange_strong(free, mine(), std::memory_order_acquire)) lock_slowly();
  }
  void unlock() {
    if (state_.exchange(0, std::memory_order_release) & kAwaited) futex_wake(&state_, 1);
  }

 private:
  static constexpr uint32_t kAwaited = 1;

  // The state while held: the process that holds it, and whether others wait.
  static uint32_t mine() { return (fork_generation.load(std::memory_order_relaxed) + 1) << 1; }

  void lock_slowly() {
    uint32_t seen = state_.load(std::memory_order_relaxed);
    for (;;) {
      if ((seen & ~kAwaited) != mine()) {
        if (state_.compare_exchange_weak(seen, mine() | kAwaited, std::memory_order_acquire)) return;
      } else if ((seen & kAwaited) || state_.compare_exchange_weak(seen, seen | kAwaited, std::memory_order_relaxed)) {
        FutexWord word{&state_, seen | kAwaited};
        futex_sleep_any(&word, 1, kForever);
        seen = state_.load(std::memory_order_relaxed);
      }
    }
  }

  std::atomic<uint32_t> state_{0};
};

// A value with a lock, which a forked child reinitializes: the parent's threads may have been in the middle of a change.
template <class T>
class Guarded {
 public:
  class Access {
   public:
    explicit Access(Guarded& owner) : owner_(owner), lock_(owner.mutex_) {
      uint32_t now = fork_generation.load(std::memory_order_relaxed);
      if (owner_.generation_ == now) return;
      new (&owner_.value_) T;  // the old one is leaked, not destroyed
      owner_.generation_ = now;
    }
    T* operator->() const { return &owner_.value_; }
    T& operator*() const { return owner_.value_; }

   private:
    Guarded& owner_;
    std::lock_guard<Mutex> lock_;
  };

  // Locked as long as the result lives.
  Access open() { return Access(*this); }

 private:
  Mutex mutex_;
  uint32_t generation_ = fork_generation.load(std::memory_order_relaxed);
  T value_{};
};

}  // namespace anyzero
