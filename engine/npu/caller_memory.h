// Tests whether a caller's memory is mapped, before a library gets it that would crash on unmapped memory.
#pragma once

#include <cstdint>

namespace anyzero {

// Touch every page of at least one byte. To be called inside a trap, which catches what is wrong. Writing changes nothing, also not
// what somebody else writes at the same time.
void read_each_page(const unsigned char* memory, uint64_t bytes);
void write_each_page(unsigned char* memory, uint64_t bytes);

// Touching pages that are there costs less than asking whose they are, up to so many bytes.
inline constexpr uint64_t kWorthAsking = 64 * 1024;

// Memory that the driver's heap has given out is there, to be read and written, as long as nobody frees it.
bool of_our_heap(const unsigned char* memory, uint64_t bytes);

}  // namespace anyzero
