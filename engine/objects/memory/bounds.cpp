#include "../../exec/bounds.h"

#include <pthread.h>

#include <algorithm>
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
  bool alone = false;  // no other addresses lead to the same memory
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

// nullptr without an allocation; else valid until the thread looks up the next one.
const Recent* look_up(uintptr_t address) {
  Recent& last = own_recent_bounds().of(address);
  // Before the lookup: a change meanwhile makes the entry old.
  const uint64_t version = allocation_changes.load(std::memory_order_relaxed);
  if (is_known(last, address, version)) return &last;
  last.version = 0;
  const auto note = [&](const Allocation& allocation) {
    last.bounds = {allocation.base, allocation.size};
    last.alone = allocation.origin == Origin::Heap;
  };
  if (!with_allocation(reinterpret_cast<void*>(address), note)) return with_deferred(address, note) ? &last : nullptr;
  last.version = version;
  return &last;
}

}  // namespace

Bounds bounds_around(uintptr_t address) {
  if (address < kNull) return {0, 0};
  if (const Recent* found = look_up(address)) return found->bounds;
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

bool are_unaliased(const unsigned char* args, std::span<const uint32_t> written, std::span<const uint32_t> read) {
  constexpr size_t kMost = 32;
  uintptr_t begins[kMost], begin;
  size_t count = 0;
  const auto is_separate = [&](uint32_t offset) {
    uintptr_t address;
    std::memcpy(&address, args + offset, sizeof address);
    begin = 0;
    if (address == 0) return true;  // nothing is accessed through it
    const Recent* found = look_up(address);
    if (!found || !found->alone) return false;
    begin = found->bounds.begin;
    return std::find(begins, begins + count, begin) == begins + count;
  };
  for (const uint32_t offset : written) {
    if (count == kMost || !is_separate(offset)) return false;
    if (begin) begins[count++] = begin;
  }
  return std::all_of(read.begin(), read.end(), is_separate);
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
