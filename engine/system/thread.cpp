#include "thread.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace anyzero {

bool start_thread(void* (*run)(void*), void* argument, const char* name) {
  // The program's signal handlers must not run on our threads; signals of faults are synchronous and stay unblocked.
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

std::atomic<uint32_t> fork_generation{0};

namespace {

// Handlers that wait for a fork. A list of our own, because the C library does not call handlers that are registered during a fork.
constexpr unsigned kMostHandlers = 32;
std::atomic<void (*)()> handlers[kMostHandlers];
std::atomic<unsigned> registered{0};
std::atomic<pid_t> process{getpid()};

void in_child() {
  process.store(getpid());
  fork_generation.fetch_add(1);
  for (auto& handler : handlers)
    if (void (*run)() = handler.load()) run();
}

const bool watching_forks = (pthread_atfork(nullptr, nullptr, in_child), true);

}  // namespace

void at_fork_child(void (*run)()) {
  const unsigned index = registered.fetch_add(1);
  if (index >= kMostHandlers) std::abort();  // each is registered once
  handlers[index].store(run);
}

void notice_fork() {
  if (process.load() != getpid()) in_child();
}

}  // namespace anyzero
