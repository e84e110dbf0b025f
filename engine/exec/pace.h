// The time of a kernel's work-item, measured from launch to launch.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace anyzero {

// Whatever disturbs a run makes it longer, never shorter: a cold start, a page fault, another program that has the processor for a
// few milliseconds. So less is believed at once, and more only when the next measurement says so too, and then the less of both.
// Threading: any thread. Measurements that come at the same time may be lost.
class Pace {
 public:
  // Picoseconds; 0 until there was a measurement.
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }
  // False while the last measurement wants another one beside it.
  bool settled() const { return doubted_.load(std::memory_order_relaxed) == 0; }

  void learn(uint64_t measured) {
    const uint64_t known = value(), doubted = doubted_.load(std::memory_order_relaxed);
    const uint64_t slack = known / 4;  // what is nearly the same is not worth a write that all threads see
    if (known == 0) {
      set(measured, measured);
    } else if (measured <= known + slack) {
      if (measured + slack < known || doubted) set(std::min(measured, known), 0);
    } else if (doubted) {
      set(std::max(known, std::min(measured, doubted)), 0);
    } else {
      doubted_.store(measured, std::memory_order_relaxed);
    }
  }

 private:
  void set(uint64_t value, uint64_t doubted) {
    value_.store(value, std::memory_order_relaxed);
    doubted_.store(doubted, std::memory_order_relaxed);
  }

  std::atomic<uint64_t> value_{0};
  std::atomic<uint64_t> doubted_{0};
};

}  // namespace anyzero
