#include "cooperate.h"

#include <unistd.h>

#include <ctime>

#include "../system/signal.h"
#include "../system/thread.h"
#include "dispatch.h"

namespace anyzero {

namespace {

constexpr uint64_t kMost = 256;

// Lives on the stack of the launching thread; the other threads are done with it before that returns.
struct Crew {
  RunningLaunch& running;
  uint64_t groups;
  std::atomic<uint32_t> gate{0};  // 1: run; 2: too few threads, the launch fails
  std::atomic<uint64_t> next{0};
  std::atomic<uint64_t> finished{0};
  std::atomic<bool> given_up{false};
  Fault fault{};
  std::atomic<pid_t> threads[kMost] = {};  // 0 for a group that has not begun, -1 for one that has ended

  void run_one() {
    const uint64_t group = next.fetch_add(1, std::memory_order_relaxed);
    threads[group].store(gettid(), std::memory_order_release);
    const Fault mine = trapped([&] { run_groups(running, group, group + 1); });
    threads[group].store(-1, std::memory_order_release);
    if (mine.signal && !given_up.exchange(true, std::memory_order_acq_rel)) {
      fault = mine;
      // The other groups may wait for this one, which has ended.
      while (finished.load(std::memory_order_acquire) + 1 < groups) {
        for (uint64_t i = 0; i < groups; ++i)
          if (pid_t thread = threads[i].load(std::memory_order_acquire); thread > 0) knock(thread);
        constexpr timespec kPause = {0, 200'000};
        nanosleep(&kPause, nullptr);
      }
    }
    finished.fetch_add(1, std::memory_order_release);
  }
};

void* member(void* crew) {
  auto& self = *static_cast<Crew*>(crew);
  for (uint32_t seen; (seen = self.gate.load(std::memory_order_acquire)) != 1;) {
    if (seen == 2) {
      self.finished.fetch_add(1, std::memory_order_release);
      return nullptr;
    }
    FutexWord word{&self.gate, 0};
    futex_sleep_any(&word, 1, kForever);
  }
  self.run_one();
  return nullptr;
}

void open_gate(Crew& crew, uint32_t to) {
  crew.gate.store(to, std::memory_order_seq_cst);
  futex_wake(&crew.gate, static_cast<int>(kMost));
}

}  // namespace

void run_together(RunningLaunch& running, uint64_t groups) {
  if (groups > most_cooperative_groups()) raise({.signal = Fault::kTooManyGroups});
  Crew crew{running, groups};
  running.limit.given_up = &crew.given_up;
  uint64_t others = 0;
  while (others + 1 < groups && start_thread(member, &crew, "az-group")) ++others;
  const bool complete = others + 1 == groups;
  open_gate(crew, complete ? 1 : 2);
  if (complete) crew.run_one();
  const uint64_t awaited = complete ? groups : others;
  for (unsigned tries = 0; crew.finished.load(std::memory_order_acquire) < awaited; ++tries) relax_long(tries);
  running.limit.given_up = nullptr;
  if (!complete) raise({.signal = Fault::kNoThreads});
  if (crew.given_up.load(std::memory_order_acquire)) raise(crew.fault);
}

}  // namespace anyzero
