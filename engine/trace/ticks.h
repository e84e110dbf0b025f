// The processor's time-stamp counter: a third of the cost of reading the clock. Two reads are half of the cost of a record.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include "../system/clock.h"
#endif

namespace anyzero {

// Grows at the same constant rate on all processors; a recording holds the rate.
inline uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return now_ns();
#endif
}

}  // namespace anyzero
