// The memory around a pointer, for kernels that check their accesses; the objects that know all allocations implement it
// (objects/memory/bounds.cpp).
#pragma once

#include <cstdint>
#include <string>

#include "../layouts/gen/kernel.h"
#include "packet.h"

namespace anyzero {

inline constexpr Bounds kAnywhere{0, UINT64_MAX};

// Of the allocation that `address` lies in. Of no bytes for a null pointer and for memory that was freed; kAnywhere for memory that
// is no allocation of the driver's, such as the program's own.
Bounds bounds_around(uintptr_t address);

// The allocation that an address lies in, if it is one that a program made and has not made resident.
bool nonresident_allocation(uintptr_t address, MemoryRange* range);

// The allocation that begins there, as a noun: "device allocation". Empty where there is none.
std::string allocation_kind(uintptr_t begin);

// In which allocation an address lies, or how far it is from the nearest, in words.
std::string where_is(uintptr_t address);

}  // namespace anyzero
