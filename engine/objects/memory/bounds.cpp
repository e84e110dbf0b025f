#include "../../exec/bounds.h"

#include <pthread.h>

#include <cstring>

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
constexpr unsigned kRecentBits = 5;

struct RecentBounds {
  Recent entries[1 << kRecentBits];
  Recent& of(uintptr_t address) { return entries[(address / 64 * 0x9E3779B97F4A7C15u) >> (64 - kRecentBits)]; }
};
// A library that is loaded late gets few bytes of every thread's static storage, so only the address lies there.
constinit thread_local RecentBounds* recent_bounds __attribute__((tls_model("initial-exec"))) = nullptr;

[[gnu::cold, gnu::noinline]] RecentBounds& make_recent_bounds() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, [](void* own) {
      recent_bounds = nullptr;
      delete static_cast<RecentBounds*>(own);
    });
    return made;
  }();
  recent_bounds = new RecentBounds;
  pthread_setspecific(key, recent_bounds);
  return *recent_bounds;
}

RecentBounds& own_recent_bounds() { return recent_bounds ? *recent_bounds : make_recent_bounds(); }

bool is_known(const Recent& recent, uintptr_t address, uint64_t version) {
  return recent.version == version && address - recent.bounds.begin < recent.bounds.size;
}

bool in_allocation(uintptr_t address, Bounds* bounds) {
  Recent& last = own_recent_bounds().of(address);
  // Before the lookup: a change meanwhile makes the entry old.
  const uint64_t version = allocation_changes.load(std::memory_order_relaxed);
  if (is_known(last, address, version)) {
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

void find_bounds(const unsigned char* args, std::span<const uint16_t> words, Bounds* found) {
  RecentBounds& recent = own_recent_bounds();
  const uint64_t version = allocation_changes.load(std::memory_order_relaxed);
  for (const uint16_t word : words) {
    uintptr_t address;
    std::memcpy(&address, args + word * sizeof address, sizeof address);
    const Recent& last = recent.of(address);
    found[word] = is_known(last, address, version) ? last.bounds : bounds_around(address);
  }
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
