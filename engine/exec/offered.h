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

// The last memory that a kernel on a device without on-demand paging accessed, which is known to be resident.
struct ReachedRanges {
  static constexpr uint32_t kMost = 4;
  uint32_t count;
  uint32_t next;
  AddressRange ranges[kMost];
};

// A worker, with fields that only the engine uses.
struct RunningWorker : Worker {
  ReachedRanges reached;
};

// Runs the groups first … last - 1. They are numbered strip by strip; without strips, x first, as are the blocks of a kernel that
// does not use its groups.
using Entry = void (*)(const void* args, const Grid* grid, uint64_t first, uint64_t last, Worker* worker);

// The address of a function by its name, or 0.
uintptr_t find_offered(const std::string& name);

}  // namespace anyzero
