// Observes another process from outside: does it work, or does it hang?
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace anyzero {

// Threading: any thread.
class WatchedProcess {
 public:
  explicit WatchedProcess(pid_t number);

  // Linux's counters of the process, all threads together; any change is a sign of life.
  struct Account {
    char state = '?';  // as /proc shows it, 'R' if it is that of any thread, then 'D'; '?' where it shows nothing
    uint64_t faults = 0, ticks = 0, threads = 0, start = 0;

    bool operator==(const Account&) const = default;
  };
  Account account() const;

  // Ends it, unless it has ended and another process has its id by now.
  void kill() const;

 private:
  pid_t number_;
  uint64_t start_;
};

// The patience with a silent process, in slices. Only slices count in which this process ran itself: a suspended machine, or a
// program that is stopped together with its planning process, adds one slice at most. A process counts as silent only while it
// neither runs, nor waits for a disk, nor has used any processor time or memory since the last check; so a slow one, or one that is
// being swapped in, is never given up. Nor is one under a debugger.
class Vigil {
 public:
  Vigil(const WatchedProcess& process, uint64_t limit_ms) : process_(process), limit_ms_(limit_ms) {}

  enum class Verdict { Alive, Silent, Stopped };
  // Another slice has passed without an answer.
  Verdict pass(uint64_t slice_ms);

 private:
  const WatchedProcess& process_;
  const uint64_t limit_ms_;  // 0 for none
  uint64_t silent_ms_ = 0;
  WatchedProcess::Account last_ = {};
};

}  // namespace anyzero
