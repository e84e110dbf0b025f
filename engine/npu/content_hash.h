// A 128-bit content hash, the key of the model cache. Accidental collisions are negligible. It is not cryptographic: an attacker
// may construct a collision, so a match proves nothing about the origin.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace anyzero {

struct ContentHash {
  uint64_t low = 0, high = 0;

  bool operator==(const ContentHash&) const = default;
  std::string hex() const;  // 32 digits
};

// Part boundaries count: ("ab", "c") differs from ("a", "bc").
ContentHash content_hash(std::span<const std::span<const unsigned char>> parts);
ContentHash content_hash(std::initializer_list<std::span<const unsigned char>> parts);

inline std::span<const unsigned char> as_bytes(std::string_view text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

}  // namespace anyzero
