// Threads of the program that have called the API, and those of them that wait in it.
#pragma once

#include <atomic>

#include "other_threads.h"

namespace anyzero {

inline constinit std::atomic<int> callers{0}, waiting_callers{0};

inline constinit thread_local bool is_caller __attribute__((tls_model("initial-exec"))) = false;

// Counts the calling thread until its end.
[[gnu::cold, gnu::noinline]] inline void add_caller() {
  struct Caller {
    Caller() { callers.fetch_add(1); }
    ~Caller() { callers.fetch_sub(1); }
  };
  static thread_local Caller caller;
  static_cast<void>(&caller);
  is_caller = true;
}

struct WaitingCaller {
  WaitingCaller() {
    waiting_callers.fetch_add(1);
    note_waiting_thread(true);
  }
  ~WaitingCaller() {
    waiting_callers.fetch_sub(1);
    note_waiting_thread(false);
  }
  WaitingCaller(const WaitingCaller&) = delete;
  WaitingCaller& operator=(const WaitingCaller&) = delete;
};

// Then no thread is left to submit or to signal anything, as far as calls tell.
inline bool all_callers_wait() { return callers.load() <= waiting_callers.load(); }

}  // namespace anyzero
