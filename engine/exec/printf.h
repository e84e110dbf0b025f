// Formatting of a kernel's printf.
#pragma once

#include <cstdint>
#include <string>

namespace anyzero {

// OpenCL's conversions, vectors included. A slot holds a scalar or a component of a vector: integers as their bits, floats as those
// of a double, strings and pointers as addresses. Invalid conversions, and conversions without a slot, are printed unchanged.
// Strings are read up to 64 KiB, and 1 MiB is printed at most. Any thread.
std::string format_printf(const char* format, const uint64_t* slots, uint32_t n_slots);

}  // namespace anyzero
