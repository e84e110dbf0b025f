// Threads of the engine: detached, never joined, with the program's signals blocked; they end with the process.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <atomic>
#include <cstdint>

namespace anyzero {

// The signals that instructions cause. SIGTRAP: compilers fill the gaps between functions with breakpoints, and a kernel may jump
// into one.
inline constexpr int kFaultSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

// Counts the forks between the first process and this one.
extern std::atomic<uint32_t> fork_generation;

// False if the system grants no thread.
bool start_thread(void* (*run)(void*), void* argument, const char* name);

// `run` is called in a forked child, where none of our threads exist.
void at_fork_child(void (*run)());

// Calls the handlers in a child whose fork began before this library was loaded: a loader delays forks until loading is done.
void notice_fork();

// One step of a wait that has lasted `ns` so far and will sleep if it lasts much longer. With few processors, the awaited thread
// may need this one.
inline void spin_a_while(uint64_t ns) {
  constexpr uint64_t kSelfish = 2'000;
  if (ns > kSelfish) sched_yield();
  for (int i = 0; i < 32; ++i) __builtin_ia32_pause();
}

// One step of a wait for another thread that may take long, where no wake-up comes.
void relax_long(unsigned tries);

// One step of a short busy wait for another thread.
inline void relax(unsigned tries) {
  if (tries < 256) {
    __builtin_ia32_pause();
  } else {
    sched_yield();
  }
}

}  // namespace anyzero
