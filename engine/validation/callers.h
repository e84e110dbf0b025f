// Threads of the program that have called the API, and those of them that wait in it.
#pragma once

#include <cstdint>

#include "../system/watched.h"
#include "other_threads.h"

namespace anyzero {

// What `watched` has to be for the thread's calls to pass (passing.h): kChecked in a thread that is noted, and nothing before.
inline constinit thread_local uint32_t passes_while __attribute__((tls_model("initial-exec"))) = 0;

// Notes the calling thread until its end.
[[gnu::cold, gnu::noinline]] inline void add_caller() {
  struct Caller {
    Caller() { note_calling_thread(true); }
    ~Caller() { note_calling_thread(false); }
  };
  static thread_local Caller caller;
  static_cast<void>(&caller);
  passes_while = kChecked;
}

struct WaitingCaller {
  WaitingCaller() { note_waiting_thread(true); }
  ~WaitingCaller() { note_waiting_thread(false); }
  WaitingCaller(const WaitingCaller&) = delete;
  WaitingCaller& operator=(const WaitingCaller&) = delete;
};

}  // namespace anyzero
