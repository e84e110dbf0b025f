// Busy time of a ring: written by the thread that walks it, read by any thread at any time.
#pragma once

#include <atomic>
#include <cstdint>

namespace anyzero {

// One word, so that a reader never sees half a change, and no more than a store for the thread that works: at rest the nanoseconds
// worked so far, at work the time at which they would have begun had there been no rest. The lowest bit says which.
class Busy {
 public:
  // For the walking thread. Work that began and ends at these times of now_ns().
  void begin(uint64_t now) { set((now - value()) << 1 | kAtWork); }
  void end(uint64_t now) { set((now - value()) << 1); }
  // Work too short to look at the clock for.
  void add(uint64_t ns) { set((value() + ns) << 1); }
  bool at_work() const { return word() & kAtWork; }

  uint64_t until(uint64_t now) const {
    const uint64_t seen = word();
    if (!(seen & kAtWork)) return seen >> 1;
    const auto worked = static_cast<int64_t>((now << 1) - (seen & ~kAtWork)) / 2;
    return worked > 0 ? static_cast<uint64_t>(worked) : 0;  // it may have begun after the reader looked at the clock
  }

 private:
  static constexpr uint64_t kAtWork = 1;
  uint64_t word() const { return word_.load(std::memory_order_relaxed); }
  uint64_t value() const { return word() >> 1; }
  void set(uint64_t word) { word_.store(word, std::memory_order_relaxed); }

  std::atomic<uint64_t> word_{0};
};

}  // namespace anyzero
