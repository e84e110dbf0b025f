// A signal: a value that only grows, is reset, or fails, and a futex to sleep on until it changes. All waits use it.
#pragma once

#include <atomic>
#include <cstdint>

namespace anyzero {

inline constexpr uint64_t kForever = UINT64_MAX;

// In memory that other processes may map, so without pointers; zero bytes are its initial state.
// Threading: any thread of any process.
struct alignas(64) Signal {
  std::atomic<uint64_t> value;
  std::atomic<uint32_t> epoch;     // the futex: changes whenever a sleeper must check again
  std::atomic<uint32_t> sleepers;  // a killed process may leave it too high, which only costs a system call
  std::atomic<uint64_t> start;     // device clock, for events that carry timestamps
  std::atomic<uint64_t> end;

  static constexpr uint64_t kFailed = uint64_t{1} << 63;

  enum class State { Pending, Reached, Failed };
  State state(uint64_t target) const {
    uint64_t now = value.load(std::memory_order_acquire);
    if ((now & ~kFailed) >= target) return State::Reached;
    return now & kFailed ? State::Failed : State::Pending;
  }

  void set(uint64_t to) {
    value.store(to, std::memory_order_seq_cst);
    wake_sleepers();
  }
  // The two halves of set(), for callers that pass a full barrier between them anyway.
  void put(uint64_t to) { value.store(to, std::memory_order_release); }
  void wake_sleepers() {
    if (sleepers.load(std::memory_order_seq_cst)) wake();
  }
  void advance() {
    value.fetch_add(1, std::memory_order_seq_cst);
    wake_sleepers();
  }
  // To a larger value; a smaller one changes nothing.
  void raise(uint64_t to) {
    uint64_t now = value.load(std::memory_order_relaxed);
    while (now < to && !value.compare_exchange_weak(now, to, std::memory_order_seq_cst)) {
    }
    wake_sleepers();
  }
  void fail() {
    value.fetch_or(kFailed, std::memory_order_seq_cst);
    wake_sleepers();
  }
  void reset() { value.store(0, std::memory_order_release); }

  // Sleeps until `target` is reached, the signal fails or `timeout` nanoseconds have passed. It polls in the last moments of a
  // timeout, because a sleep ends late.
  State sleep(uint64_t target, uint64_t timeout);

 private:
  void wake();
};
static_assert(sizeof(Signal) == 64);

// The length of a sleep if so many nanoseconds are left: shorter, by the delay that the system adds. 0: no sleep. The default slack
// of a thread's timers is 50 microseconds, which a program may change; waking up takes some more. The woken thread spins for the
// rest, a few tens of microseconds.
constexpr uint64_t nap_within(uint64_t left) {
  constexpr uint64_t kLate = 90'000;
  return left == kForever ? kForever : left > kLate ? left - kLate : 0;
}

// One word to sleep on, with the value that the sleeper last saw.
struct FutexWord {
  std::atomic<uint32_t>* word;
  uint32_t seen;
};
// Sleeps until one of the words differs from its seen value, one is woken, or after the timeout (nanoseconds; kForever for none).
void futex_sleep_any(const FutexWord* words, uint32_t count, uint64_t timeout);
void futex_wake(std::atomic<uint32_t>* word, int sleepers);

}  // namespace anyzero
