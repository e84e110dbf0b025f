// Functions that compiled code may call: C's memory functions, the compiler's own helpers, and the engine's services for kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../layouts/gen/kernel.h"

namespace anyzero {

struct AddressRange {
  uintptr_t begin, end;
  bool contains(uintptr_t address) const { return address - begin < end - begin; }
};

// The memory that a kernel on a device without on-demand paging touched last, and is known to be within its reach.
struct ReachedRanges {
  static constexpr uint32_t kMost = 4;
  uint32_t count;
  uint32_t next;
  AddressRange ranges[kMost];
};

// A worker with what only the engine knows of it.
struct RunningWorker : Worker {
  ReachedRanges reached;
};

// Runs the groups first … last - 1. Code that knows no strips numbers them x first, and a kernel that does not know its groups runs
// blocks in that order.
using Entry = void (*)(const void* args, const Grid* grid, uint64_t first, uint64_t last, Worker* worker);

// The address behind a name, or 0.
uintptr_t find_offered(const std::string& name);

}  // namespace anyzero
