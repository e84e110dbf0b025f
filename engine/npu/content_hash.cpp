#include "content_hash.h"

#include <array>
#include <bit>
#include <cstdio>
#include <cstring>

namespace anyzero {

namespace {

// One 128-bit state, in two halves.
struct Lane {
  uint64_t a, b;

  // Multiplies the input into the state. The halves of the product are folded, because its low bits depend on few bits of the
  // factors. The factors are also added, so that a zero factor loses no information.
  void take(uint64_t x, uint64_t y) {
    const uint64_t p = a ^ x, q = b ^ y;
    const unsigned __int128 product = static_cast<unsigned __int128>(p) * q;
    const uint64_t low = static_cast<uint64_t>(product), high = static_cast<uint64_t>(product >> 64);
    a = (low ^ high) + q;
    b = high + std::rotl(p, 29);
  }
};

constexpr size_t kLanes = 4;  // enough to hide the latency of a multiplication
constexpr size_t kBlock = kLanes * 2 * sizeof(uint64_t);

// Pseudo-random constants: an odd increment passed through a mixer.
constexpr std::array<uint64_t, 2 * kLanes + 2> kSalt = [] {
  std::array<uint64_t, 2 * kLanes + 2> salt{};
  uint64_t step = 0x6A09E667F3BCC909;
  for (uint64_t& each : salt) {
    step += 0x9E3779B97F4A7C15;
    uint64_t x = step;
    for (int i = 0; i < 3; ++i) x = (x ^ x >> 31) * 0xD6E8FEB86659FD93;
    each = x ^ x >> 32;
  }
  return salt;
}();

class Hash {
 public:
  Hash() {
    for (size_t i = 0; i < kLanes; ++i) lanes_[i] = {kSalt[2 * i], kSalt[2 * i + 1]};
  }

  void part(std::span<const unsigned char> bytes) {
    const unsigned char* at = bytes.data();
    size_t left = bytes.size();
    // Local copies stay in registers.
    std::array<Lane, kLanes> lanes = lanes_;
    for (; left >= kBlock; at += kBlock, left -= kBlock) take(lanes, at);
    if (left) {
      unsigned char last[kBlock] = {};
      std::memcpy(last, at, left);
      take(lanes, last);
    }
    // The length distinguishes padding from contents, and the index distinguishes the parts.
    lanes[0].take(bytes.size(), ++parts_);
    lanes_ = lanes;
  }

  ContentHash done() const {
    Lane all = {kSalt[2 * kLanes], kSalt[2 * kLanes + 1]};
    for (int round = 0; round < 2; ++round)
      for (const Lane& lane : lanes_) all.take(lane.a, lane.b);
    for (size_t i = 0; i < kLanes; ++i) all.take(kSalt[i], kSalt[kLanes + i]);
    return {all.a, all.b};
  }

 private:
  static uint64_t word(const unsigned char* at) {
    uint64_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  // Unrolled by hand: compilers keep lanes that are indexed by a loop in memory.
  static void take(std::array<Lane, kLanes>& lanes, const unsigned char* block) {
    static_assert(kLanes == 4);
    lanes[0].take(word(block), word(block + 8));
    lanes[1].take(word(block + 16), word(block + 24));
    lanes[2].take(word(block + 32), word(block + 40));
    lanes[3].take(word(block + 48), word(block + 56));
  }

  std::array<Lane, kLanes> lanes_;
  uint64_t parts_ = 0;
};

}  // namespace

std::string ContentHash::hex() const {
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return digits;
}

ContentHash content_hash(std::span<const std::span<const unsigned char>> parts) {
  Hash hash;
  for (std::span<const unsigned char> part : parts) hash.part(part);
  return hash.done();
}

ContentHash content_hash(std::initializer_list<std::span<const unsigned char>> parts) {
  return content_hash(std::span(parts.begin(), parts.size()));
}

}  // namespace anyzero
