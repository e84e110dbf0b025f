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

// Memory that commands of one context may name: they begin at one of `size` addresses, and end `room` behind the first at most.
struct alignas(32) PassingMemory {
  uintptr_t begin = 0, size = 0, room = 0;
};

inline constexpr unsigned kPassingBits = 6, kRecentBits = 7;
inline constexpr size_t kRecentMemories = size_t{1} << kRecentBits;

struct ThreadMemories {
  // Without a version and a context of their own: they all hold as long as these are the current ones.
  uint64_t version = 0;
  const Context* context = nullptr;
  PassingMemory passing[1 << kPassingBits];
  KnownMemory recent[kRecentMemories + 1];
};
inline constinit ThreadMemories no_memories;
// A library that is loaded late gets few bytes of every thread's static storage, so only the address lies there.
inline constinit thread_local ThreadMemories* memories __attribute__((tls_model("initial-exec"))) = &no_memories;

// The result lives until the thread's next look.
const KnownMemory& look_memory_up(uintptr_t address);

// The places of an address, by Fibonacci hashing: most allocations get places of their own, at any distance from each other. Two
// that share a place in one table have different ones in the other.
inline size_t passing_place(uintptr_t address) { return (address * 0x9E3779B97F4A7C15u) >> (64 - kPassingBits); }
inline size_t recent_place(uintptr_t address) { return (address * 0xD1B54A32D192ED03u) >> (64 - kRecentBits); }

inline const KnownMemory& known_memory(const void* pointer) {
  const auto at = reinterpret_cast<uintptr_t>(pointer);
  const KnownMemory& recent = memories->recent[recent_place(at)];
  if (at - recent.begin < recent.size && recent.version == allocation_changes.load(std::memory_order_relaxed)) [[likely]]
    return recent;
  return look_memory_up(at);
}

// Whether commands of the context may name this memory, as far as anything is known of it. If so, the thread's next commands pass
// that do (passing.h).
bool let_pass(const void* pointer, const Context& context);

}  // namespace anyzero
