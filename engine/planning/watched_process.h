// Another process, looked at from outside: does it work, or does it just hang there?
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace anyzero {

// Threading: any thread.
class WatchedProcess {
 public:
  explicit WatchedProcess(pid_t number);

  // What the kernel has counted for it, all threads together; any change is a sign of life.
  struct Account {
    char state = '?';  // as /proc shows it, 'R' if it is that of any thread, then 'D'; '?' where it shows nothing
    uint64_t faults = 0, ticks = 0, threads = 0, start = 0;

    bool operator==(const Account&) const = default;
  };
  Account account() const;

  // Ends it, unless it is gone and another process has its number by now.
  void kill() const;

 private:
  pid_t number_;
  uint64_t start_;
};

// Waits for a word of a process, in slices. Time passes only in slices that this process has lived through itself: a machine that
// sleeps, or a program that is stopped together with its planning process, adds one slice at most. And a process counts as silent
// only while it neither runs, nor waits for a disk, nor has used any processor time or memory since the last look; so a slow one,
// or one that is being swapped in, is never given up. Nor is one under a debugger.
class Vigil {
 public:
  Vigil(const WatchedProcess& process, uint64_t limit_ms) : process_(process), limit_ms_(limit_ms) {}

  enum class Verdict { Alive, Silent, Stopped };
  // Another slice has passed without a word.
  Verdict pass(uint64_t slice_ms);

 private:
  const WatchedProcess& process_;
  const uint64_t limit_ms_;  // 0 for none
  uint64_t silent_ms_ = 0;
  WatchedProcess::Account last_ = {};
};

}  // namespace anyzero
