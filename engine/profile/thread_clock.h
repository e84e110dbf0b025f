// A clock of a thread's processor time that signals the thread at a constant rate.
#pragma once

#include <time.h>

#include <cstdint>

namespace anyzero {

// Processor time of the calling thread. Safe in a signal handler.
uint64_t thread_time_ns();

// Calls `take` on the interrupted thread, with its context, at every tick of any clock. False if no signal is free.
bool install_sample_handler(void (*take)(void* context));

// Threading: start on the thread itself; stop from any thread.
class ThreadClock {
 public:
  // By perf_event_open, at the exact rate. False if the system refuses it.
  bool start_perf(uint64_t rate);
  // By a timer, limited to the kernel's tick rate of 100 to 1000 per second.
  bool start_timer(uint64_t rate);
  void stop();

 private:
  int perf_ = -1;
  bool timed_ = false;
  timer_t timer_{};
};

}  // namespace anyzero
