// Launches of a kernel that are known to end: their loops have the same trip counts as those of a launch that ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

namespace anyzero {

// The inputs of a kernel's trip counts besides memory: the size of the launch and some of its arguments.
struct TurnsSource {
  const unsigned char* args;
  const uint32_t* group_count;
  const uint32_t* group_size;
  const uint32_t* offset;
};

// Their hash.
class TurnsMark {
 public:
  void add(uint64_t value) {
    mark_ = (mark_ ^ value) * 0x9E3779B97F4A7C15u;
    mark_ ^= mark_ >> 32;
  }
  void add(const uint32_t* three) {
    add(three[0] | uint64_t{three[1]} << 32);
    add(three[2]);
  }
  void add(const unsigned char* bytes, uint32_t size) {
    for (uint32_t at = 0; at < size; at += sizeof(uint64_t)) {
      uint64_t value = 0;
      std::memcpy(&value, bytes + at, size - at < sizeof value ? size - at : sizeof value);
      add(value);
    }
  }
  uint64_t value() const { return mark_ | uint64_t{1} << 63; }  // never 0

 private:
  uint64_t mark_ = 0;
};

// Hashes of the last launches, in a direct-mapped table. Threading: any thread.
class KnownTurns {
 public:
  bool contains(uint64_t mark) const { return places_[mark % kPlaces].load(std::memory_order_relaxed) == mark; }
  void learn(uint64_t mark) {
    if (!contains(mark)) places_[mark % kPlaces].store(mark, std::memory_order_relaxed);
  }

 private:
  static constexpr uint64_t kPlaces = 8;
  std::atomic<uint64_t> places_[kPlaces] = {};
};

}  // namespace anyzero
