// The device's clock: nanoseconds, the same time line as the host's CLOCK_MONOTONIC_RAW.
#pragma once

#include <cstdint>
#include <ctime>

namespace anyzero {

inline uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

}  // namespace anyzero
