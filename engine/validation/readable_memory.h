// Memory that may not be accessible: asks the system instead of touching it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anyzero {

// Whether the eight bytes that the address lies in can be read. Safe in a signal handler.
bool is_readable(uintptr_t address);
// Copies a few bytes; false, without a fault, where they cannot be read.
bool copy_if_readable(void* to, const void* from, size_t size);

}  // namespace anyzero
