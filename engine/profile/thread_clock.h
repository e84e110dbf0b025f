// A clock of a thread's processor time that sends the thread a signal at a constant rate.
#pragma once

#include <time.h>

#include <cstdint>

namespace anyzero {

// Processor time of the calling thread. Safe in a signal handler.
uint64_t thread_time_ns();

// Has `take` called on the interrupted thread, with its context, at every tick of any clock. False where no signal is free.
bool install_sample_handler(void (*take)(void* context));

// Threading: started by the thread itself; stopped by any.
class ThreadClock {
 public:
  // By perf_event_open: exact to the rate. False where the system refuses it.
  bool start_perf(uint64_t rate);
  // By a timer: no more ticks than the system's own, 100 to 1000 a second.
  bool start_timer(uint64_t rate);
  void stop();

 private:
  int perf_ = -1;
  bool timed_ = false;
  timer_t timer_{};
};

}  // namespace anyzero
