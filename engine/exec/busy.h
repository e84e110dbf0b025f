// Busy time of a ring: written by the thread that walks it, read by any thread at any time.
#pragma once

#include <atomic>
#include <cstdint>

namespace anyzero {

// One word, so that readers never see a torn value and the working thread needs a single store. While idle it is the nanoseconds
// worked so far; while busy it is the start time minus these. The lowest bit tells the two apart.
class Busy {
 public:
  // For the walking thread: work that began and ended at these times of now_ns().
  void begin(uint64_t now) { set((now - value()) << 1 | kAtWork); }
  void end(uint64_t now) { set((now - value()) << 1); }
  // Work that is too short to be timed.
  void add(uint64_t ns) { set((value() + ns) << 1); }
  bool at_work() const { return word() & kAtWork; }

  uint64_t until(uint64_t now) const {
    const uint64_t seen = word();
    if (!(seen & kAtWork)) return seen >> 1;
    const auto worked = static_cast<int64_t>((now << 1) - (seen & ~kAtWork)) / 2;
    return worked > 0 ? static_cast<uint64_t>(worked) : 0;  // it may have begun after the reader took the time
  }

 private:
  static constexpr uint64_t kAtWork = 1;
  uint64_t word() const { return word_.load(std::memory_order_relaxed); }
  uint64_t value() const { return word() >> 1; }
  void set(uint64_t word) { word_.store(word, std::memory_order_relaxed); }

  std::atomic<uint64_t> word_{0};
};

}  // namespace anyzero
