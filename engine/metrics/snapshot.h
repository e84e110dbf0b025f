// Values of all counters of a metric group at one point in time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anyzero {

inline constexpr size_t kMostMetrics = 8;

// By the index of the metric. The first one is the time in nanoseconds: 0 if no snapshot was taken.
struct Snapshot {
  uint64_t values[kMostMetrics] = {};
};

// The raw data of queries and streams: counters at the beginning and at the end.
struct Report {
  Snapshot begin, end;
};

}  // namespace anyzero
