#include "caller_memory.h"

#include <algorithm>

#include "../objects/memory/allocation.h"

namespace anyzero {

namespace {
constexpr uint64_t kPage = 4096;
}  // namespace

// Not instrumented: the sanitizers would report the very accesses that these two functions probe.
[[gnu::noinline, gnu::no_sanitize("address", "thread", "undefined")]] void read_each_page(const unsigned char* memory,
                                                                                          uint64_t bytes) {
  const volatile unsigned char* at = memory;
  const volatile unsigned char* last = memory + bytes - 1;
  for (;;) {
    (void)*at;
    const uint64_t left = static_cast<uint64_t>(last - at);
    if (left == 0) return;
    at += std::min(kPage, left);
  }
}

[[gnu::noinline, gnu::no_sanitize("address", "thread", "undefined")]] void write_each_page(unsigned char* memory, uint64_t bytes) {
  unsigned char* at = memory;
  unsigned char* last = memory + bytes - 1;
  for (;;) {
    asm volatile("lock orb $0, %0" : "+m"(*at));
    const uint64_t left = static_cast<uint64_t>(last - at);
    if (left == 0) return;
    at += std::min(kPage, left);
  }
}

bool of_our_heap(const unsigned char* memory, uint64_t bytes) {
  bool whole = false;
  with_allocation(memory, [&](Allocation& allocation) {
    const uint64_t before = reinterpret_cast<uintptr_t>(memory) - allocation.base;
    whole = allocation.origin == Origin::Heap && bytes <= allocation.size - before;
  });
  return whole;
}

}  // namespace anyzero
