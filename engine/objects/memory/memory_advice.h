// Hints about memory: what a prefetch and an advice do when their command runs.
#pragma once

#include <atomic>
#include <cstddef>

#include "../../backends/backend.h"

namespace anyzero {

class Device;
struct AdvisePacket;
struct Allocation;

// Threading: any thread.

// Moves shared memory to the device's account where there is room for it, and populates its pages.
void prefetch_memory(Device& device, const void* at, size_t bytes);

// Advice holds for whole allocations. The location decides which account shared memory is on; BIAS_CACHED and BIAS_UNCACHED decide
// whether copies and fills write past the caches. The rest has no effect: there is one memory, which needs no duplicates.
void advise_memory(const AdvisePacket& advice);

// Biased memory is looked up only once there is some.
extern std::atomic<bool> any_caching_advice;
Caching advised_caching(const void* to);
// The kind of stores for a copy or fill of so many bytes.
inline Caching caching_of(const void* to, size_t bytes) {
  constexpr size_t kTrifle = 4096;  // not worth a look
  return bytes < kTrifle || !any_caching_advice.load(std::memory_order_relaxed) ? Caching::Usual : advised_caching(to);
}

// The flags that an allocation is made with say the same.
void set_caching_by_flags(Allocation& allocation);

}  // namespace anyzero
