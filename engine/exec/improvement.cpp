#include "improvement.h"

#include "../system/signal.h"
#include "code.h"

namespace anyzero {

namespace {

// The improvement for groups of this size, which claims a free entry if it has none; nullptr if all are used by other sizes.
Improvement* improvement_for(std::array<Improvement, Improvements::kSizes>& sizes, uint64_t group) {
  for (Improvement& each : sizes) {
    uint64_t known = each.group.load(std::memory_order_relaxed);
    if (!known && each.group.compare_exchange_strong(known, group, std::memory_order_relaxed)) return &each;
    if (known == group) return &each;
  }
  return nullptr;
}

void count(Improvement& improvement, uint64_t nanoseconds, uint64_t worth) {
  if (improvement.asked.load(std::memory_order_relaxed)) return;
  if (improvement.worked.fetch_add(nanoseconds, std::memory_order_relaxed) + nanoseconds < worth) return;
  if (improvement.asked.exchange(true, std::memory_order_relaxed)) return;
  improvement.code->retain();
  improvement_line().put(improvement);
}

}  // namespace

Improvements::Improvements(Code& code, std::shared_ptr<const std::string> from, bool first_stage, bool fits_groups)
    : build(std::move(from)), provisional(first_stage), fits(fits_groups) {
  final.code = &code;
  for (Improvement& each : sizes) each.code = &code;
}

std::array<uint32_t, 3> Improvements::unpacked(uint64_t group) {
  constexpr uint64_t kOne = (uint64_t{1} << 21) - 1;
  return {static_cast<uint32_t>(group & kOne), static_cast<uint32_t>(group >> 21 & kOne),
          static_cast<uint32_t>(group >> 42 & kOne)};
}

void Improvements::note_work(uint64_t nanoseconds, const uint32_t* size) {
  if (provisional) count(final, nanoseconds, Improvement::kWorth);
  const uint64_t group = fits ? packed(size) : 0;
  if (!group) return;
  if (Improvement* found = improvement_for(sizes, group)) count(*found, nanoseconds, Improvement::kWorthFitting);
}

void ImprovementLine::put(Improvement& improvement) {
  improvement.next = last_.load(std::memory_order_relaxed);
  while (!last_.compare_exchange_weak(improvement.next, &improvement, std::memory_order_release, std::memory_order_relaxed)) {
  }
  bell_.fetch_add(1, std::memory_order_release);
  futex_wake(&bell_, 1);
}

Improvement* ImprovementLine::take() {
  for (;;) {
    const uint32_t seen = bell_.load(std::memory_order_acquire);
    Improvement* found = last_.load(std::memory_order_acquire);
    // Only this thread removes entries, so those behind the last one stay meanwhile.
    while (found && !last_.compare_exchange_weak(found, found->next, std::memory_order_acquire)) {
    }
    if (found) return found;
    FutexWord word{&bell_, seen};
    futex_sleep_any(&word, 1, kForever);
  }
}

ImprovementLine& improvement_line() {
  static constinit ImprovementLine line;  // trivially destroyed: threads of ours run on while the process exits
  return line;
}

}  // namespace anyzero
