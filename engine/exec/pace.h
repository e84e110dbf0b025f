// The time of a kernel's work-item, measured from launch to launch.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace anyzero {

// Disturbances make a run longer, never shorter: a cold start, a page fault, another program on the processor. So a shorter time is
// believed at once, and a longer one only if the next measurement confirms it; then the shorter of the two counts. Threading: any
// thread. Simultaneous measurements may be lost.
class Pace {
 public:
  // Picoseconds; 0 until the first measurement.
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }
  // False while the last measurement needs to be confirmed.
  bool settled() const { return doubted_.load(std::memory_order_relaxed) == 0; }

  void learn(uint64_t measured) {
    const uint64_t known = value(), doubted = doubted_.load(std::memory_order_relaxed);
    const uint64_t slack = known / 4;  // a similar value is not worth a write to a shared cache line
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
