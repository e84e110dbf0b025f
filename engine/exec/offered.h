// What compiled code may call: C's memory functions, the compiler's own helpers, and what the engine does for kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

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

// What a thread brings along when it runs work-groups. Compiled code knows this layout.
struct Worker {
  unsigned char* local;
  unsigned char* scratch;
  uint64_t local_bytes;
  uint64_t scratch_bytes;
  void* launch;  // from here on the engine's own
  ReachedRanges reached;
};
static_assert(offsetof(Worker, launch) == 32);

// One per launch, read-only for the code, which knows this layout too.
struct Grid {
  uint64_t group_count[3];
  uint64_t group_size[3];
  uint64_t global_offset[3];
  uint64_t global_size[3];
  uint64_t dimensions;  // the highest one whose size is not 1, at least 1
  uint64_t strip;       // groups are numbered strip by strip: so many columns of them, row by row, then the next columns
};
static_assert(sizeof(Grid) == 112);

// Runs the groups first … last - 1. Code that knows no strips numbers them x first, and a kernel that does not know its groups runs
// blocks in that order.
using Entry = void (*)(const void* args, const Grid* grid, uint64_t first, uint64_t last, Worker* worker);

// The address behind a name, or 0.
uintptr_t find_offered(const std::string& name);

}  // namespace anyzero
