// Files that exist in memory only, for what several processes map.
#pragma once

#include <cstddef>

namespace anyzero {

// A file of that size, which nobody can shrink; -1 when the system refuses. Closed on exec.
int memory_file(size_t size);

// Lets this process have as many files open as it may; false when it may already.
bool raise_file_limit();

}  // namespace anyzero
