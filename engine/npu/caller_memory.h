// Tests whether a caller's memory is mapped, before a library gets it that would crash on unmapped memory.
#pragma once

#include <cstdint>

namespace anyzero {

// Touch every page of at least one byte. Call them inside a trap, which catches the fault of an unmapped page. The write is an
// atomic OR with 0, so concurrent writes of other threads are preserved.
void read_each_page(const unsigned char* memory, uint64_t bytes);
void write_each_page(unsigned char* memory, uint64_t bytes);

// Up to this many bytes, touching mapped pages costs less than looking up their owner.
inline constexpr uint64_t kWorthAsking = 64 * 1024;

// Whether the driver's heap has allocated this memory: then it is readable and writable until it is freed.
bool of_our_heap(const unsigned char* memory, uint64_t bytes);

}  // namespace anyzero
