#include "wait.h"

#include "../planner.h"
#include "clock.h"
#include "pool.h"
#include "settings.h"

namespace anyzero {

namespace {
// A helper may be held up by the work it takes on, so only waiters with time on their hands help a whole ring along.
constexpr uint64_t kPatience = 1'000'000'000;
}  // namespace

Signal::State host_wait(Signal& signal, uint64_t target, uint64_t timeout, Ring* ring, uint64_t position) {
  Signal::State state = signal.state(target);
  if (state != Signal::State::Pending || timeout == 0) return state;

  if (ring && timeout >= kPatience) {
    GilPause pause;
    ring->help(position);
    state = signal.state(target);
    if (state != Signal::State::Pending) return state;
  }

  const uint64_t begin = now_ns();
  const uint64_t deadline = timeout > kForever - begin ? kForever : begin + timeout;
  uint64_t sleep_at = begin + settings.spin_ns;
  for (;;) {
    for (int i = 0; i < 16; ++i) {
      state = signal.state(target);
      if (state != Signal::State::Pending) return state;
      pause_briefly();
    }
    bool helped = help_parallel();
    uint64_t time = now_ns();
    if (time >= deadline) return signal.state(target);
    if (helped) {
      sleep_at = time + settings.spin_ns;
    } else if (time >= sleep_at) {
      break;
    }
  }
  GilPause pause;
  uint64_t time = now_ns();
  return signal.sleep(target, deadline == kForever ? kForever : deadline > time ? deadline - time : 0);
}

}  // namespace anyzero
