// Files that exist in memory only, for what several processes map.
#pragma once

#include <cstddef>

namespace anyzero {

// A file of that size, which nobody can shrink; -1 when the system refuses. Closed on exec.
int memory_file(size_t size);

}  // namespace anyzero
