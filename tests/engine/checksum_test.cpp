// Checksums and names of contents: the fast agree with the slow, and nothing that differs looks the same.
#include "../../engine/npu/checksum.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../../engine/npu/content_hash.h"

using anyzero::as_bytes;
using anyzero::checksum;
using anyzero::checksum_portable;
using anyzero::content_hash;
using anyzero::ContentHash;
using Raw = std::vector<unsigned char>;

namespace {

Raw noise(size_t size, uint32_t seed = 1) {
  std::mt19937 random(seed);
  Raw bytes(size);
  for (auto& each : bytes) each = static_cast<unsigned char>(random());
  return bytes;
}

// The definition, bit by bit.
uint32_t by_definition(std::span<const unsigned char> bytes) {
  uint32_t rest = UINT32_MAX;
  for (unsigned char byte : bytes) {
    rest ^= byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? 0x82F63B78 : 0);
  }
  return ~rest;
}

void checksums_agree() {
  assert(checksum(as_bytes("123456789")) == 0xE3069283 && checksum_portable(as_bytes("123456789")) == 0xE3069283);
  assert(checksum({}) == 0 && checksum({}, 77) == 77);
  const Raw bytes = noise(120'000);
  const std::span<const unsigned char> all = bytes;
  std::mt19937 random(2);
  for (int i = 0; i < 130; ++i) {
    const size_t from = random() % 64, size = i < 100 ? static_cast<size_t>(i) : random() % (all.size() - from);
    const auto part = all.subspan(from, size);
    const uint32_t expected = by_definition(part);
    assert(checksum(part) == expected && checksum_portable(part) == expected);
    const size_t middle = size ? random() % size : 0;
    assert(checksum(part.subspan(middle), checksum(part.first(middle))) == expected);
    assert(checksum_portable(part.subspan(middle), checksum(part.first(middle))) == expected);
  }
  for (size_t size : {49151, 49152, 49153, 98304, 110007}) assert(checksum(all.first(size)) == by_definition(all.first(size)));
}

int ones(const ContentHash& a, const ContentHash& b) {
  return __builtin_popcountll(a.low ^ b.low) + __builtin_popcountll(a.high ^ b.high);
}

void borders_count() {
  std::set<std::string> seen;
  const std::string zeros(200, '\0');
  auto add = [&](ContentHash hash) { assert(seen.insert(hash.hex()).second && hash.hex().size() == 32); };
  add(content_hash({}));
  add(content_hash({as_bytes("")}));
  add(content_hash({as_bytes(""), as_bytes("")}));
  add(content_hash({as_bytes("abc")}));
  add(content_hash({as_bytes("abc"), as_bytes("")}));
  add(content_hash({as_bytes(""), as_bytes("abc")}));
  add(content_hash({as_bytes("ab"), as_bytes("c")}));
  add(content_hash({as_bytes("a"), as_bytes("bc")}));
  add(content_hash({as_bytes("bc"), as_bytes("a")}));
  for (size_t size = 1; size < zeros.size(); ++size) add(content_hash({as_bytes(zeros).first(size)}));
}

// Whatever the address: the words are read as they come.
void addresses_do_not_count() {
  const Raw bytes = noise(1000);
  for (size_t shift = 0; shift < 16; ++shift) {
    Raw moved(shift);
    moved.insert(moved.end(), bytes.begin(), bytes.end());
    assert(content_hash({std::span(moved).subspan(shift)}) == content_hash({bytes}));
  }
  // It names files that outlive a build: a change is allowed, but never by accident.
  assert(content_hash({as_bytes("anyzero")}).hex() == "e5de40d1704d6a97fbe47ef474064a0b");
}

// One bit changes half of all bits, wherever it is.
void bits_avalanche() {
  for (size_t size : {1, 8, 16, 63, 64, 65, 200, 1000}) {
    Raw bytes = noise(size, 9);
    const ContentHash before = content_hash({bytes});
    long flipped = 0;
    for (size_t bit = 0; bit < size * 8; ++bit) {
      bytes[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
      const int changed = ones(before, content_hash({bytes}));
      assert(changed > 24 && changed < 104);  // seven standard deviations
      flipped += changed;
      bytes[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
    }
    const double mean = static_cast<double>(flipped) / static_cast<double>(size * 8);
    assert(mean > 58 && mean < 70);
  }
}

// Contents with little in them, as weights often are: constants, counters, one value among zeros. Each half of a name by itself has
// no more doubles than chance gives, which is none in 64 bits; and 24 of them as many as chance gives.
void plain_contents_do_not_meet() {
  std::vector<ContentHash> all;
  for (uint32_t n = 0; n < 40'000; ++n) {
    uint32_t words[48] = {};
    words[n % 48] = n / 48 + 1;  // one value
    all.push_back(content_hash({{reinterpret_cast<const unsigned char*>(words), sizeof words}}));
    for (uint32_t i = 0; i < 48; ++i) words[i] = n * 0x01010101u + (i & n % 2) + 7;  // nearly constant
    all.push_back(content_hash({{reinterpret_cast<const unsigned char*>(words), sizeof words}}));
    for (uint32_t i = 0; i < 48; ++i) words[i] = i < 2 ? n << 16 * i : 0x3F800000u ^ n << 31;  // ones of either sign
    all.push_back(content_hash({{reinterpret_cast<const unsigned char*>(words), sizeof words}}));
  }
  std::set<std::pair<uint64_t, uint64_t>> whole;
  for (const ContentHash& each : all) whole.emplace(each.low, each.high);
  const size_t different = whole.size();
  assert(different > 119'000);  // some of the contents are equal
  for (bool high : {false, true}) {
    for (int shift : {0, 20, 40}) {
      std::set<uint64_t> halves, parts;
      for (const auto& [a, b] : whole) {
        halves.insert(high ? b : a);
        parts.insert((high ? b : a) >> shift & 0xFFFFFF);
      }
      assert(halves.size() == different);
      // Of 120,000 names in 2^24 places, about 428 share one with another.
      const double doubles = static_cast<double>(different - parts.size());
      assert(doubles > 300 && doubles < 560);
    }
  }
}

}  // namespace

int main() {
  checksums_agree();
  borders_count();
  addresses_do_not_count();
  bits_avalanche();
  plain_contents_do_not_meet();
  std::puts("checksum_test: ok");
  return 0;
}
