// Memory of rings, provided by another thread shortly before it is written: the first write to a page costs the writing thread up
// to three microseconds.
#pragma once

#include <cstddef>

namespace anyzero {

// Provides these bytes of a mapping soon. Without a thread, or on a system that cannot, they are provided as they are written.
void provide_pages(void* begin, size_t bytes);

}  // namespace anyzero
