// Waiting for a signal: sleeps that leave room for being woken late, and waits that end no earlier than their time.
#include "system/signal.h"

#include "scene.h"
#include "system/clock.h"

using namespace anyzero;

namespace {

constexpr uint64_t kMillisecond = 1'000'000;

// What a sleep is asked for ends before the wait does, by more than the slack of a timer and not by so much that a processor would
// be kept busy.
void sleeps_are_shorter_than_waits() {
  constexpr uint64_t kSlack = 50'000, kBusy = 200'000;
  for (uint64_t left : {kMillisecond, 5 * kMillisecond, 100 * kMillisecond, 3'600'000 * kMillisecond}) {
    const uint64_t rest = left - nap_within(left);
    assert(kSlack < rest && rest <= kBusy && rest * 50 <= std::max(left, 10 * kMillisecond));
  }
  for (uint64_t left : {uint64_t{0}, uint64_t{1}, kSlack}) assert(nap_within(left) == 0);
  assert(nap_within(kForever) == kForever);
}

void waits_last_their_time() {
  Signal signal{};
  for (uint64_t timeout : {uint64_t{0}, uint64_t{1}, uint64_t{20'000}, uint64_t{150'000}, 2 * kMillisecond}) {
    const uint64_t begin = now_ns();
    assert(signal.sleep(1, timeout) == Signal::State::Pending);
    assert(now_ns() - begin >= timeout);
  }
}

// In every phase of a wait, asleep or not, the signal ends it.
void signals_end_waits() {
  for (uint64_t timeout : {60 * scene::kSecond, kForever}) {
    Signal signal{};
    std::thread other([&] { signal.set(1); });
    assert(signal.sleep(1, timeout) == Signal::State::Reached);
    other.join();
  }
  Signal failed{};
  failed.fail();
  assert(failed.sleep(1, kForever) == Signal::State::Failed);
}

}  // namespace

int main() {
  sleeps_are_shorter_than_waits();
  waits_last_their_time();
  signals_end_waits();
  std::puts("signal_test: ok");
  return 0;
}
