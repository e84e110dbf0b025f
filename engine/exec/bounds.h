// The memory around a pointer, for kernels that check their accesses; the objects that know all allocations implement it
// (objects/memory/bounds.cpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "../check/made.h"
#include "../layouts/gen/kernel.h"
#include "packet.h"

namespace anyzero {

inline constexpr Bounds kAnywhere{0, UINT64_MAX};

// Bounds of the allocation that contains `address`. They are empty for a null pointer and for freed memory; kAnywhere for memory
// that is no allocation of the driver's, such as the program's own.
Bounds bounds_around(uintptr_t address);
// The same for addresses in a block of arguments, of which `words` are the indices: writes `found` at the same ones.
void find_bounds(const unsigned char* args, std::span<const uint16_t> words, Bounds* found);

// True if the addresses in a block of arguments, at the offsets `written`, lead to allocations that no other one at both kinds of
// offsets leads to. False also where that is not known, as for the program's own memory and for memory that other addresses lead
// to as well.
bool are_unaliased(const unsigned char* args, std::span<const uint32_t> written, std::span<const uint32_t> read);

// The allocation that contains an address, if a program made it and has not made it resident.
bool nonresident_allocation(uintptr_t address, MemoryRange* range);

// The kind of the allocation that begins there, such as "device allocation"; empty without one.
std::string allocation_kind(uintptr_t begin);

// Text: the allocation that contains an address, or the distance to the nearest one.
std::string where_is(uintptr_t address);

// With the calls that made and freed it, for reports about memory.
inline std::string memory_at(uintptr_t address) { return where_is(address) + where_made(reinterpret_cast<const void*>(address)); }

}  // namespace anyzero
