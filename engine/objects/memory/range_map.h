// A value for every address, changed by ranges.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace anyzero {

// Threading: one at a time; the owner has a lock.
template <class T>
class RangeMap {
 public:
  // All addresses have this value until a range is set.
  explicit RangeMap(T initial) : changes_{{0, initial}} {}

  T at(uintptr_t address) const { return std::prev(changes_.upper_bound(address))->second; }

  // Where the value that holds at `address` ends, at most `limit`.
  uintptr_t end_of_run(uintptr_t address, uintptr_t limit) const {
    auto next = changes_.upper_bound(address);
    return next == changes_.end() || next->first > limit ? limit : next->first;
  }

  void set(uintptr_t begin, uintptr_t end, T value) {
    if (begin >= end) return;
    const T behind = at(end);
    changes_.erase(changes_.lower_bound(begin), changes_.upper_bound(end));
    // Entries only where the value changes, so that a run has one entry, however it was set.
    if (begin == 0 || at(begin - 1) != value) changes_[begin] = value;
    if (behind != value) changes_[end] = behind;
  }

  // The number of runs.
  size_t size() const { return changes_.size(); }

 private:
  std::map<uintptr_t, T> changes_;  // each holds up to the next
};

}  // namespace anyzero
