#include "watchdog.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "../system/clock.h"
#include "../system/mutex.h"
#include "../system/signal.h"
#include "../system/thread.h"

namespace anyzero {

namespace {

// A thread that runs kernels, as the watchdog sees it.
struct Watch {
  std::atomic<uint64_t> deadline{0};  // 0 while it runs none
  pid_t thread = gettid();
  uint32_t generation = fork_generation.load(std::memory_order_relaxed);
};

Guarded<std::vector<Watch*>>& watches() {
  static auto* watches = new Guarded<std::vector<Watch*>>;  // leaked: threads outlive static storage
  return *watches;
}

std::atomic<bool> started{false};
std::atomic<uint64_t> next_look{0};  // when the watchdog will wake by itself; 0 while it is awake
std::atomic<uint32_t> doorbell{0};
thread_local Watch* mine __attribute__((tls_model("initial-exec"))) = nullptr;

void forget(void* memory) {
  auto* watch = static_cast<Watch*>(memory);
  mine = nullptr;
  current_deadline = nullptr;
  std::erase(*watches().open(), watch);
  delete watch;
}

void introduce() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, forget);
    return made;
  }();
  delete mine;  // from before a fork: this thread has another id now, which is in no list
  mine = new Watch;
  pthread_setspecific(key, mine);
  watches().open()->push_back(mine);
  current_deadline = &mine->deadline;
}

// Signals threads that are past their limit. Returns the next deadline; UINT64_MAX if no thread works.
uint64_t look_around() {
  const uint64_t now = now_ns();
  uint64_t next = UINT64_MAX;
  for (auto open = watches().open(); Watch* watch : *open) {
    const uint64_t deadline = watch->deadline.load(std::memory_order_seq_cst);
    if (deadline == 0) continue;
    if (deadline <= now) knock(watch->thread);
    constexpr uint64_t kAgain = 1'000'000;  // it may have been in a section that must not be interrupted
    next = std::min(next, deadline <= now ? now + kAgain : deadline);
  }
  return next;
}

void* watch(void*) {
  for (;;) {
    FutexWord word{&doorbell, doorbell.load(std::memory_order_seq_cst)};
    uint64_t next = look_around();
    next_look.store(next, std::memory_order_seq_cst);
    // Some threads may have begun before they could see `next_look`. From here on, an earlier deadline wakes this thread.
    next = std::min(next, look_around());
    const uint64_t now = now_ns();
    if (next > now) futex_sleep_any(&word, 1, next == UINT64_MAX ? kForever : next - now);
    next_look.store(0, std::memory_order_seq_cst);
  }
  return nullptr;
}

void after_fork() {
  started.store(false);
  next_look.store(0);
}

}  // namespace

void start_watchdog() {
  if (started.load(std::memory_order_acquire) || started.exchange(true)) return;
  static const bool registered = (at_fork_child(after_fork), true);
  (void)registered;
  if (!start_thread(watch, nullptr, "az-watchdog")) started.store(false, std::memory_order_release);
}

void Watched::show(uint64_t deadline) {
  if (!mine || mine->generation != fork_generation.load(std::memory_order_relaxed)) introduce();
  mine->deadline.store(deadline, std::memory_order_seq_cst);
  if (deadline < next_look.load(std::memory_order_seq_cst) && next_look.exchange(0, std::memory_order_seq_cst) != 0) {
    doorbell.fetch_add(1, std::memory_order_seq_cst);
    futex_wake(&doorbell, 1);
  }
}

}  // namespace anyzero
