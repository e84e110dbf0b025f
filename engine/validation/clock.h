// A vector clock: which commands of each ring are done, as far as a command or the host knows. Commands of one ring need not end in
// their order, so it is runs of positions and not the last one alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace anyzero {

class Clock {
 public:
  bool has(uint64_t ring, uint64_t position) const {
    const auto run = first_to(ring, position);
    return run != runs_.end() && run->ring == ring && run->first <= position;
  }
  bool has_all(uint64_t ring, uint64_t first, uint64_t last) const {
    const auto run = first_to(ring, last);
    return last < first || (run != runs_.end() && run->ring == ring && run->first <= first);
  }
  // All commands of the ring up to the position.
  void join(uint64_t ring, uint64_t position) { add(ring, 1, position); }
  // One command.
  void add(uint64_t ring, uint64_t position) { add(ring, position, position); }
  void join(const Clock& other) {
    for (const Run& run : other.runs_) add(run.ring, run.first, run.last);
  }

 private:
  // Neighbours of one ring have a gap between them.
  struct Run {
    uint64_t ring, first, last;
  };
  static constexpr std::ptrdiff_t kMostRuns = 32;  // of one ring

  // The first run that does not end before the position.
  std::vector<Run>::const_iterator first_to(uint64_t ring, uint64_t position) const {
    return std::lower_bound(runs_.begin(), runs_.end(), position, [&](const Run& run, uint64_t wanted) {
      return run.ring < ring || (run.ring == ring && run.last < wanted);
    });
  }
  void add(uint64_t ring, uint64_t first, uint64_t last) {
    if (last < first || !last) return;
    const auto at = runs_.begin() + (first_to(ring, first - 1) - runs_.cbegin());
    if (at == runs_.end() || at->ring != ring || at->first > last + 1) {
      runs_.insert(at, {ring, first, last});
      return bound(ring);
    }
    at->first = std::min(at->first, first);
    if (at->last >= last) return;
    at->last = last;
    auto next = std::next(at);
    for (; next != runs_.end() && next->ring == ring && next->first <= last + 1; ++next) at->last = std::max(at->last, next->last);
    runs_.erase(std::next(at), next);
  }
  // Takes the oldest gap of the ring for done where there are too many.
  void bound(uint64_t ring) {
    if (runs_.size() <= static_cast<size_t>(kMostRuns)) return;
    const auto begin = runs_.begin() + (first_to(ring, 0) - runs_.cbegin());
    if (first_to(ring + 1, 0) - begin <= kMostRuns) return;
    begin->last = std::next(begin)->last;
    runs_.erase(std::next(begin));
  }

  std::vector<Run> runs_;  // by ring and position
};

}  // namespace anyzero
