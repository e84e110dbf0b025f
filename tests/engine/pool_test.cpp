// The worker pool: every chunk runs once, callers overlap and nest, and more of them come than it has places for.
#include "exec/pool.h"

#include <sched.h>

#include "scene.h"
#include "system/settings.h"
#include "system/signal.h"

using namespace anyzero;

namespace {

struct Counted {
  std::vector<std::atomic<uint32_t>> times;
  explicit Counted(uint32_t chunks) : times(chunks) {}
  static void run(void* argument, uint32_t chunk) { ++static_cast<Counted*>(argument)->times[chunk]; }
  void check() const {
    for (const auto& time : times) assert(time == 1);
  }
};

void every_chunk_once() {
  for (uint32_t chunks : {0u, 1u, 2u, 3u, 7u, 64u, 1000u}) {
    for (int round = 0; round < 50; ++round) {
      Counted counted(chunks);
      parallel(chunks, Counted::run, &counted);
      counted.check();
    }
  }
}

// More callers than there are places for offers.
void many_callers() {
  scene::threads(24, [](int) {
    for (int round = 0; round < 100; ++round) {
      Counted counted(static_cast<uint32_t>(1 + round % 9));
      parallel(static_cast<uint32_t>(counted.times.size()), Counted::run, &counted);
      counted.check();
    }
  });
}

// A chunk that is a job of its own, three deep.
struct Nested {
  std::atomic<uint32_t>* leaves;
  int depth;
  static void run(void* argument, uint32_t) {
    auto& self = *static_cast<Nested*>(argument);
    if (self.depth == 0) {
      ++*self.leaves;
      return;
    }
    Nested inner{self.leaves, self.depth - 1};
    parallel(4, run, &inner);
  }
};

void nested() {
  scene::threads(3, [](int) {
    for (int round = 0; round < 20; ++round) {
      std::atomic<uint32_t> leaves{0};
      Nested job{&leaves, 3};
      parallel(4, Nested::run, &job);
      assert(leaves == 256);
    }
  });
}

// Threads that only lend a hand, while others come and go.
void lenders() {
  std::atomic<bool> stop{false};
  std::thread lender([&] {
    while (!stop) help_parallel();
  });
  many_callers();
  stop = true;
  lender.join();
}

// Work and rest in turn: sleeping workers must wake up for each job, and no job may wait for them.
void rest_in_between() {
  for (int round = 0; round < 30; ++round) {
    Counted counted(40);
    parallel(40, Counted::run, &counted);
    counted.check();
    if (round % 3 == 0) scene::sleep_ms(1);
  }
}

// A worker may move away from its caller's processor, but keeps every processor in its affinity mask.
void workers_may_run_anywhere() {
  cpu_set_t allowed;
  assert(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  auto look = [](void* wanted, uint32_t) {
    for (const auto begin = std::chrono::steady_clock::now();
         std::chrono::steady_clock::now() - begin < std::chrono::microseconds(50);) {
    }
    cpu_set_t mine;
    assert(sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_EQUAL(&mine, static_cast<cpu_set_t*>(wanted)));
  };
  // One caller for each worker, so that processors are taken when they wake up.
  scene::threads(4, [&](int) {
    for (int round = 0; round < 30; ++round) {
      parallel(12, look, &allowed);
      scene::sleep_ms(1);
    }
  });
}

// The signal under everything: no wake is lost between a look and a sleep.
void signals() {
  Signal a{}, b{};
  constexpr uint64_t kRounds = 3000;
  std::thread other([&] {
    for (uint64_t i = 1; i <= kRounds; ++i) {
      assert(a.sleep(i, kForever) == Signal::State::Reached);
      b.advance();
    }
  });
  for (uint64_t i = 1; i <= kRounds; ++i) {
    a.advance();
    assert(b.sleep(i, kForever) == Signal::State::Reached);
  }
  other.join();
  assert(a.sleep(kRounds + 1, 0) == Signal::State::Pending);
  assert(a.sleep(kRounds + 1, 2'000'000) == Signal::State::Pending);
  std::thread failing([&] {
    scene::await_sleep_of_others();
    a.fail();
  });
  assert(a.sleep(kRounds + 1, kForever) == Signal::State::Failed);
  failing.join();
  assert(a.sleepers.load() == 0 && b.sleepers.load() == 0);
}

}  // namespace

int main() {
  settings.threads = 4;
  every_chunk_once();
  many_callers();
  nested();
  lenders();
  rest_in_between();
  workers_may_run_anywhere();
  signals();
  std::puts("pool_test: ok");
  return 0;
}
