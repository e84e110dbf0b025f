#include "wait.h"

#include "../system/clock.h"
#include "../system/interpreter_lock.h"
#include "../system/long_steps.h"
#include "../system/settings.h"
#include "../system/thread.h"
#include "output.h"
#include "pool.h"
#include "slow_wait.h"

namespace anyzero {

namespace {
// A helper may be delayed by the work it takes on, so only waits with enough time left help a whole ring.
constexpr uint64_t kPatience = 50'000'000;

// A helping thread cannot warn about its wait; if warnings are enabled, it helps later.
bool helps_at_once() { return !warns_of_slow_waits(); }

// Sleeps until the signal is set, and warns once about a long wait.
Signal::State sleep(Signal& signal, uint64_t target, uint64_t left, AwaitedObject what, Ring* ring, uint64_t position) {
  const uint64_t quiet = settings.slow_wait_ms * 1'000'000;
  if (!warns_of_slow_waits() || left <= quiet) return signal.sleep(target, left);
  const Signal::State state = signal.sleep(target, quiet);
  if (state != Signal::State::Pending) return state;
  warn_of_wait(what, ring, position);
  // From now on the thread may help, and be delayed by the command it takes on.
  if (ring && ring->retain_if_alive()) {
    if (ring->submitted() >= position) ring->help(position, left == kForever ? kForever : now_ns() + left - quiet);
    ring->release();
  }
  return signal.sleep(target, left == kForever ? kForever : left - quiet);
}

Signal::State wait_for(Signal& signal, uint64_t target, uint64_t timeout, AwaitedObject what, Ring* ring, uint64_t position) {
  Signal::State state = signal.state(target);
  if (state != Signal::State::Pending || timeout == 0) return state;
  ++long_steps;
  if (const auto let_go = let_held_go.load(std::memory_order_acquire)) [[unlikely]]
    let_go();

  const uint64_t begin = timeout == kForever ? 0 : now_ns();
  const uint64_t deadline = timeout > kForever - begin ? kForever : begin + timeout;
  if (ring && timeout >= kPatience && helps_at_once()) {
    GilPause pause;
    ring->help(position, deadline);
    state = signal.state(target);
    if (state != Signal::State::Pending) return state;
  }

  uint64_t idle_since = now_ns();
  for (;;) {
    state = signal.state(target);
    if (state != Signal::State::Pending) return state;
    bool helped = help_parallel();
    uint64_t time = now_ns();
    if (time >= deadline) return signal.state(target);
    if (helped) {
      idle_since = time;
    } else if (time - idle_since >= settings.spin_ns) {
      break;
    } else {
      spin_a_while(time - idle_since);
    }
  }
  GilPause pause;
  uint64_t time = now_ns();
  return sleep(signal, target, deadline == kForever ? kForever : deadline > time ? deadline - time : 0, what, ring, position);
}

}  // namespace

void help_before_wait(Ring& ring, uint64_t position) {
  if (ring.completed().state(position) != Signal::State::Pending || !helps_at_once()) return;
  GilPause pause;
  ring.help(position, kForever);
}

Signal::State host_wait(Signal& signal, uint64_t target, uint64_t timeout, AwaitedObject what, Ring* ring, uint64_t position) {
  Signal::State state = wait_for(signal, target, timeout, what, ring, position);
  if (state != Signal::State::Pending) show_output();
  return state;
}

}  // namespace anyzero
