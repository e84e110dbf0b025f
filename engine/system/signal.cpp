#include "signal.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

#include "clock.h"
#include "thread.h"

namespace anyzero {

namespace {

constexpr uint32_t kMostWords = 64;
// The polling interval of a sleeper that cannot watch all its words (old kernel, or too many).
constexpr uint64_t kPollNs = 200'000;

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

// Mirrors the kernel's struct, which older headers lack.
struct WaitvEntry {
  uint64_t value;
  uint64_t address;
  uint32_t flags;
  uint32_t reserved;
};
constexpr uint32_t kWaitvSize32 = 2;

timespec to_timespec(uint64_t ns) { return {static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)}; }

void sleep_one(const FutexWord& word, uint64_t timeout) {
  timespec relative = to_timespec(timeout);
  syscall(SYS_futex, word.word, FUTEX_WAIT, word.seen, timeout == kForever ? nullptr : &relative, nullptr, 0);
}

bool sleep_many(const FutexWord* words, uint32_t count, uint64_t timeout) {
  WaitvEntry entries[kMostWords];
  for (uint32_t i = 0; i < count; ++i) entries[i] = {words[i].seen, reinterpret_cast<uint64_t>(words[i].word), kWaitvSize32, 0};
  timespec until;
  if (timeout != kForever) {
    clock_gettime(CLOCK_MONOTONIC, &until);
    timespec add = to_timespec(timeout);
    until.tv_sec += add.tv_sec;
    until.tv_nsec += add.tv_nsec;
    if (until.tv_nsec >= 1000000000) {
      until.tv_nsec -= 1000000000;
      ++until.tv_sec;
    }
  }
  long r = syscall(SYS_futex_waitv, entries, count, 0, timeout == kForever ? nullptr : &until, CLOCK_MONOTONIC);
  return r >= 0 || errno != ENOSYS;
}

}  // namespace

void futex_wake(std::atomic<uint32_t>* word, int sleepers) { syscall(SYS_futex, word, FUTEX_WAKE, sleepers, nullptr, nullptr, 0); }

void futex_sleep_any(const FutexWord* words, uint32_t count, uint64_t timeout) {
  if (count == 1) return sleep_one(words[0], timeout);
  if (count <= kMostWords && sleep_many(words, count, timeout)) return;
  sleep_one(words[0], timeout < kPollNs ? timeout : kPollNs);
}

void Signal::wake() {
  epoch.fetch_add(1, std::memory_order_seq_cst);
  futex_wake(&epoch, INT_MAX);
}

Signal::State Signal::sleep(uint64_t target, uint64_t timeout) {
  uint64_t deadline = timeout == kForever ? kForever : now_ns() + timeout;
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  State now;
  for (;;) {
    FutexWord word{&epoch, epoch.load(std::memory_order_seq_cst)};
    now = state(target);
    if (now != State::Pending) break;
    uint64_t left = kForever;
    if (deadline != kForever) {
      uint64_t time = now_ns();
      if (time >= deadline) break;
      left = deadline - time;
    }
    if (const uint64_t nap = nap_within(left)) {
      sleep_one(word, nap);
    } else {
      spin_a_while(kForever);
    }
  }
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
  return now;
}

}  // namespace anyzero
