#include "../../exec/bounds.h"

#include "allocation.h"
#include "memory.h"

namespace anyzero {

namespace {

constexpr uintptr_t kNull = 4096;

// Bounds that a thread has looked up lately: launches often name the memory of the last ones, and the map of allocations has a
// lock.
struct Recent {
  uint64_t version = 0;  // of all allocations when it was looked up
  Bounds bounds{0, 0};
};
constexpr unsigned kRecentBits = 3;

bool in_allocation(uintptr_t address, Bounds* bounds) {
  thread_local Recent recent[1 << kRecentBits];
  Recent& last = recent[(address / 64 * 0x9E3779B97F4A7C15u) >> (64 - kRecentBits)];
  // Before the lookup: a change meanwhile makes the entry old.
  const uint64_t version = allocation_changes.load(std::memory_order_relaxed);
  if (last.version == version && address - last.bounds.begin < last.bounds.size) {
    *bounds = last.bounds;
    return true;
  }
  const auto note = [&](const Allocation& allocation) { *bounds = {allocation.base, allocation.size}; };
  if (!with_allocation(reinterpret_cast<void*>(address), note)) return with_deferred(address, note);
  last = {version, *bounds};
  return true;
}

}  // namespace

Bounds bounds_around(uintptr_t address) {
  if (address < kNull) return {0, 0};
  Bounds bounds;
  if (in_allocation(address, &bounds)) return bounds;
  return freed_lately(address) ? Bounds{address, 0} : kAnywhere;
}

bool nonresident_allocation(uintptr_t address, MemoryRange* range) {
  bool made = false;
  with_allocation(reinterpret_cast<void*>(address), [&](Allocation& allocation) {
    made = allocation.origin != Origin::Module && !allocation.resident.load(std::memory_order_acquire);
    *range = allocation.range();
  });
  return made;
}

std::string allocation_kind(uintptr_t begin) {
  std::string kind;
  const auto note = [&](const Allocation& allocation) {
    if (allocation.base == begin) kind = std::string(allocation.type_name()) + " allocation";
  };
  if (!with_allocation(reinterpret_cast<void*>(begin), note)) with_deferred(begin, note);
  return kind;
}

std::string where_is(uintptr_t address) {
  char text[256];
  describe_address(address, text, sizeof text);
  return text;
}

}  // namespace anyzero
