#include "thread.h"

#include <signal.h>

#include <ctime>

namespace anyzero {

bool start_thread(void* (*run)(void*), void* argument, const char* name) {
  // The program's signal handlers must not run on our threads; faults are synchronous and cannot be blocked away.
  sigset_t all, old;
  sigfillset(&all);
  for (int number : kFaultSignals) sigdelset(&all, number);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  int error = pthread_create(&thread, &attributes, run, argument);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  if (error) return false;
  pthread_setname_np(thread, name);
  return true;
}

void relax_long(unsigned tries) {
  constexpr unsigned kShort = 2048;
  constexpr timespec kPause = {0, 50'000};
  if (tries < kShort) return relax(tries);
  nanosleep(&kPause, nullptr);
}

void at_fork_child(void (*run)()) { pthread_atfork(nullptr, nullptr, run); }

std::atomic<uint32_t> fork_generation{0};

namespace {
const bool counting_forks = (at_fork_child([] { fork_generation.fetch_add(1); }), true);
}  // namespace

}  // namespace anyzero
