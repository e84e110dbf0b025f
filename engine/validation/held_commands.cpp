#include "held_commands.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <utility>

#include "../system/clock.h"
#include "../system/signal.h"
#include "other_threads.h"
#include "readable_memory.h"

namespace anyzero {

namespace {

constexpr uint64_t kMostTime = 20'000'000;  // nanoseconds of the processor that the submitting thread gets

void ring_doorbell() {
  held_doorbell.fetch_add(1, std::memory_order_seq_cst);
  futex_wake(&held_doorbell, 1);
}

// Processor time of a thread; 0 where it has ended.
uint64_t time_of(pid_t thread) {
  constexpr unsigned kScheduled = 2, kOfThread = 4;  // as the C library makes the clock of a thread
  timespec now;
  if (clock_gettime(static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | kScheduled | kOfThread), &now) != 0) return 0;
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

void HeldCommands::hold(Ring& ring, uint64_t before, uint64_t until, const std::vector<AwaitedResult>& results) {
  results_.reserve(results_.size() + results.size());
  if (const auto held = find(ring); held != rings_.end()) {
    held->until = until;
  } else {
    rings_.push_back({&ring, before, until});
    ring.retain();
    ring.hold_behind(before);
  }
  for (const auto& each : results)
    if (remember({each.begin, each.end})) results_.push_back({{each.begin, each.end}, each.command, &ring, until});
}

HeldCommands::Rings HeldCommands::submitted(Ring& ring) {
  const auto held = find(ring);
  if (held == rings_.end()) {
    ring.stop_holding();  // another thread has taken it meanwhile
    return {};
  }
  if (ring.completed().state(held->until) != Signal::State::Pending) return take(held);
  if (results_.size() > kMostResults || !traps_come_first()) return take();
  ring.hold_behind(held->from);
  for (Protected& each : results_) {
    if (each.ring != &ring || each.on || ring.completed().state(each.until) != Signal::State::Pending) continue;
    each.on = mprotect(reinterpret_cast<void*>(each.pages.begin), each.pages.end - each.pages.begin, PROT_NONE) == 0;
  }
  const auto thread = static_cast<pid_t>(syscall(SYS_gettid));
  const uint64_t now = time_of(thread);
  submitter_ = {thread, now, now};
  ring_doorbell();
  return {};
}

HeldCommands::Rings HeldCommands::take(Rings::iterator held) {
  if (rings_.size() == 1) return take();
  std::erase_if(results_, [&](const Protected& each) { return each.ring == held->ring && !each.on; });
  Rings one{*held};
  rings_.erase(held);
  return one;
}

void HeldCommands::unprotect() {
  for (const Protected& each : results_)
    if (each.on) mprotect(reinterpret_cast<void*>(each.pages.begin), each.pages.end - each.pages.begin, PROT_READ | PROT_WRITE);
  results_.clear();
}

HeldCommands::Rings HeldCommands::take() {
  unprotect();
  touched_ = false;
  let_held_go.store(nullptr, std::memory_order_release);
  return std::exchange(rings_, {});
}

// False where too many were protected lately.
bool HeldCommands::remember(const Pages& pages) {
  constexpr uint64_t kLately = 10'000'000'000;
  const uint64_t now = now_ns();
  Known* oldest = nullptr;
  for (Known& each : known_) {
    if (each.pages.begin <= pages.begin && pages.end <= each.pages.end) {
      each.time = now;
      return true;
    }
    if (!oldest || each.time < oldest->time) oldest = &each;
  }
  if (known_.size() < kMostKnown) {
    known_.push_back({pages, now});
    return true;
  }
  if (now - oldest->time < kLately) return false;
  *oldest = {pages, now};
  return true;
}

bool HeldCommands::touch(const FaultingAccess& access, const InterruptedCode& code) {
  const auto found = find(access.address);
  if (found == results_.end()) {
    // Another thread may have been here first.
    const bool known =
        std::any_of(known_.begin(), known_.end(), [&](const Known& each) { return each.pages.contains(access.address); });
    return known && is_readable(access.address);
  }
  Touch touch{access.address, code, access.writes, found->command, found->ring, found->until};
  touch.size = std::min<size_t>(sizeof touch.before, found->pages.end - access.address);
  unprotect();
  touched_ = true;
  if (code && touches_ < kMostTouches) {
    touch.ring->retain();
    touch.given_up = now_ns() + 10'000'000'000;
    std::memcpy(touch.before, reinterpret_cast<const void*>(touch.address), touch.size);
    all_touches_[touches_++] = touch;
    pending_touches.store(touches_, std::memory_order_release);
  }
  ring_doorbell();
  return true;
}

// The thread that submitted the commands has had time to read their results, or sleeps: something may have to go on before it does.
// The time is the processor's, so a busy machine does not hide a mistake. Programs that wait in a way that no call shows lose less
// time each time.
bool HeldCommands::time_is_over() {
  const uint64_t now = time_of(submitter_.thread), before = std::exchange(submitter_.last, now);
  if (now < submitter_.begin || now - submitter_.begin >= kMostTime / (timeouts_ + 1)) return true;
  // One that has only waited for this look has run since the last one.
  return now == before && is_asleep(submitter_.thread);
}

HeldCommands::Rings HeldCommands::take_due() {
  if (rings_.empty()) return {};
  if (touched_) return take();
  if (!submitter_.thread || !time_is_over()) return {};
  ++timeouts_;
  return take();
}

bool HeldCommands::take_finished(Touch* finished, bool* changed) {
  for (Touch* each = all_touches_; each != all_touches_ + touches_; ++each) {
    const Signal::State state = each->ring->completed().state(each->until);
    // New commands may be about to write there.
    const bool pending = state == Signal::State::Pending || protects(each->address);
    if (pending && now_ns() < each->given_up) continue;
    *finished = *each;
    *each = all_touches_[--touches_];
    pending_touches.store(touches_, std::memory_order_release);
    unsigned char after[sizeof finished->before];
    const auto* at = reinterpret_cast<const void*>(finished->address);
    // The program may have freed the memory.
    const bool known = state == Signal::State::Reached && copy_if_readable(after, at, finished->size);
    *changed = known && std::memcmp(finished->before, after, finished->size) != 0;
    return true;
  }
  return false;
}

}  // namespace anyzero
