// Files that exist in memory only, for what several processes map.
#pragma once

#include <cstddef>

namespace anyzero {

// A file of that size, which cannot be shrunk; -1 when the system refuses. Closed on exec.
int memory_file(size_t size);

// Lets this process have as many files open as it may; false when it may already.
bool raise_file_limit();

// The name that the system has for an open file ("/memfd:NAME", "anon_inode:[eventfd]"), cut to the room for it; false without
// /proc.
bool descriptor_target(int fd, char* target, size_t room);

}  // namespace anyzero
