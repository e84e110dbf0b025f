// Allocations as commands name them. Each thread remembers those that it looked up lately: most commands name memory that earlier
// ones have named.
#pragma once

#include <cstdint>

#include "../objects/memory/allocation.h"

namespace anyzero {

struct KnownMemory {
  uint64_t version = 0;              // of all allocations when it was looked up
  uintptr_t begin = 0;               // of the addresses that this is known of
  uintptr_t size = 0;                // and their number
  uintptr_t end = 0;                 // a command may go on up to here; UINTPTR_MAX where that is not known
  const Context* context = nullptr;  // nullptr for memory that is no allocation of the driver's
  bool host_reads = false;           // the program may read it without a call
  bool freed = false;                // it was, lately
};

inline constexpr unsigned kRecentBits = 6;
inline constexpr size_t kRecentMemories = size_t{1} << kRecentBits;
inline constinit thread_local KnownMemory* recent_memories __attribute__((tls_model("initial-exec"))) = nullptr;

// The result lives until the thread's next look.
const KnownMemory& look_memory_up(uintptr_t address);

// The place of an address, by Fibonacci hashing: allocations at any distance from each other get places of their own.
inline KnownMemory& recent_memory(uintptr_t address) {
  return recent_memories[(address / 64 * 0x9E3779B97F4A7C15u) >> (64 - kRecentBits)];
}

inline const KnownMemory& known_memory(const void* pointer) {
  const auto at = reinterpret_cast<uintptr_t>(pointer);
  if (recent_memories) [[likely]] {
    const KnownMemory& recent = recent_memory(at);
    if (at - recent.begin < recent.size && recent.version == allocation_changes.load(std::memory_order_relaxed)) [[likely]]
      return recent;
  }
  return look_memory_up(at);
}

}  // namespace anyzero
