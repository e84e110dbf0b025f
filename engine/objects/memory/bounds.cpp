#include "../../exec/bounds.h"

#include "allocation.h"
#include "memory.h"

namespace anyzero {

namespace {

constexpr uintptr_t kNull = 4096;

bool in_allocation(uintptr_t address, Bounds* bounds) {
  const auto note = [&](const Allocation& allocation) { *bounds = {allocation.base, allocation.size}; };
  return with_allocation(reinterpret_cast<void*>(address), note) || with_deferred(address, note);
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
