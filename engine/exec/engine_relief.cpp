// Relief of an engine: another thread walks its other rings while the thread in charge is stuck in one.
#include <ctime>

#include "../system/signal.h"
#include "../system/thread.h"
#include "engine.h"

namespace anyzero {

namespace {

// Rings of one engine wait for each other that long before the deputy takes over. If it were shorter, rings with medium-sized
// kernels would mostly run at the same time, each with half of the caches; if it were longer, users would notice the delay.
constexpr timespec kTooLong = {0, 10'000'000};

// Each of these threads is inside a kernel that does not end, and occupies a processor. With more of them, a further thread would
// make little progress, while threads and their stacks use up memory of the program.
constexpr uint32_t kMostRelieved = 64;

}  // namespace

void* Engine::deputy_main(void* engine) {
  static_cast<Engine*>(engine)->stand_by();
  static_cast<Engine*>(engine)->run();
  return nullptr;
}

// Called at most once for each check of the deputy, however much is submitted.
void Engine::alarm() {
  if (alarm_.load(std::memory_order_relaxed) || alarm_.exchange(1, std::memory_order_seq_cst)) return;
  if (deputy_.exchange(true, std::memory_order_acq_rel)) {
    futex_wake(&alarm_, 1);
  } else if (!start_thread(deputy_main, this, "az-engine")) {
    deputy_.store(false, std::memory_order_release);
    alarm_.store(0, std::memory_order_seq_cst);
  }
}

void Engine::stand_by() {
  for (;;) {
    for (FutexWord word{&alarm_, 0}; alarm_.load(std::memory_order_seq_cst) == 0;) futex_sleep_any(&word, 1, kForever);
    const uint64_t seen = charge_.load(std::memory_order_seq_cst);
    nanosleep(&kTooLong, nullptr);
    if (seen % 2 && work_waits() && take_charge(seen)) return;
    // A submission after this check raises the alarm again.
    auto needed = [&] { return charge_.load(std::memory_order_seq_cst) % 2 && work_waits(); };
    if (needed()) continue;
    alarm_.exchange(0, std::memory_order_seq_cst);
    if (needed()) alarm_.store(1, std::memory_order_seq_cst);
  }
}

bool Engine::take_charge(uint64_t seen) {
  bool taken = false;
  if (relieved_.fetch_add(1, std::memory_order_relaxed) < kMostRelieved) taken = leave(seen);
  if (!taken) {
    relieved_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  deputy_.store(false, std::memory_order_release);
  alarm_.exchange(0, std::memory_order_seq_cst);
  return true;
}

bool Engine::become_deputy() {
  relieved_.fetch_sub(1, std::memory_order_relaxed);
  return !deputy_.exchange(true, std::memory_order_acq_rel);
}

}  // namespace anyzero
