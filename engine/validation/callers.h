// Threads of the program that have called the API, and those of them that wait in it.
#pragma once

#include <atomic>

#include "../system/watched.h"
#include "other_threads.h"

namespace anyzero {

inline constinit std::atomic<int> callers{0}, waiting_callers{0};

// What `watched` has to be for the thread's calls to pass (passing.h): kChecked in a thread that is counted, and nothing before.
inline constinit thread_local uint32_t passes_while __attribute__((tls_model("initial-exec"))) = 0;

// Counts the calling thread until its end.
[[gnu::cold, gnu::noinline]] inline void add_caller() {
  struct Caller {
    Caller() { callers.fetch_add(1); }
    ~Caller() { callers.fetch_sub(1); }
  };
  static thread_local Caller caller;
  static_cast<void>(&caller);
  passes_while = kChecked;
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
