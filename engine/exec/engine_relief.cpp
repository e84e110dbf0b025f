// Relief of an engine: another thread walks its other rings while the thread in charge is inside one that does not end.
#include <ctime>

#include "../system/signal.h"
#include "../system/thread.h"
#include "engine.h"

namespace anyzero {

namespace {

// Rings that take turns on an engine wait for each other that long. Shorter, and rings with middling kernels would mostly run side
// by side, each with half of the caches; longer, and a user would notice the delay.
constexpr timespec kTooLong = {0, 10'000'000};

// Each of these threads is inside a kernel that nothing ends, with a processor of its own as far as there are any. Beyond that many
// a further thread would get next to nothing done, while threads and their stacks use up what the program needs itself.
constexpr uint32_t kMostRelieved = 64;

}  // namespace

void* Engine::deputy_main(void* engine) {
  static_cast<Engine*>(engine)->stand_by();
  static_cast<Engine*>(engine)->run();
  return nullptr;
}

// Called at most once for each look of the deputy, however much is submitted.
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
