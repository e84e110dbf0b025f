// A vector clock: how many commands of each ring are done, as far as a command or the host knows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace anyzero {

class Clock {
 public:
  uint64_t of(uint64_t ring) const {
    const auto found = place_of(ring);
    return found != known_.end() && found->first == ring ? found->second : 0;
  }
  void join(uint64_t ring, uint64_t position) {
    const auto at = known_.begin() + (place_of(ring) - known_.begin());
    if (at == known_.end() || at->first != ring) {
      known_.insert(at, {ring, position});
    } else {
      at->second = std::max(at->second, position);
    }
  }
  void join(const Clock& other) {
    for (const auto& [ring, position] : other.known_) join(ring, position);
  }
  // Forgets what `other` knows as well.
  void reduce_by(const Clock& other) {
    std::erase_if(known_, [&](const auto& each) { return each.second <= other.of(each.first); });
  }
  size_t size() const { return known_.size(); }

 private:
  using Known = std::vector<std::pair<uint64_t, uint64_t>>;  // ring and position, by ring
  Known::const_iterator place_of(uint64_t ring) const {
    return std::lower_bound(known_.begin(), known_.end(), ring,
                            [](const auto& each, uint64_t wanted) { return each.first < wanted; });
  }
  Known known_;
};

}  // namespace anyzero
