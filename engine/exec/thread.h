// Threads of ours: detached, never joined, deaf to the program's signals, and gone without ceremony at exit.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdint>

namespace anyzero {

// Counts the forks between the first process and this one.
extern std::atomic<uint32_t> fork_generation;

void start_thread(void* (*run)(void*), void* argument, const char* name);

// `run` is called in a forked child, where none of our threads exist.
void at_fork_child(void (*run)());

// One step of a short busy wait for another thread.
inline void relax(unsigned tries) {
  if (tries < 256) {
    __builtin_ia32_pause();
  } else {
    sched_yield();
  }
}

}  // namespace anyzero
