// A name for contents, by which the model cache finds them again. 128 bits: different contents do not meet by chance. Somebody who
// looks for two contents with one name may find them, so it is for finding, not for trusting.
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

// The parts count with their borders: ("ab", "c") is not ("a", "bc").
ContentHash content_hash(std::span<const std::span<const unsigned char>> parts);
ContentHash content_hash(std::initializer_list<std::span<const unsigned char>> parts);

inline std::span<const unsigned char> as_bytes(std::string_view text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

}  // namespace anyzero
