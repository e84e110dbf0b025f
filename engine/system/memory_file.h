// Files in memory (memfd), for memory that several processes map.
#pragma once

#include <cstddef>

namespace anyzero {

// A file of that size, which cannot be shrunk; -1 if the system refuses. Close-on-exec.
int memory_file(size_t size);

// Raises the soft limit of open files to the hard limit; false if it is that high already.
bool raise_file_limit();

// The system's name of an open file ("/memfd:NAME", "anon_inode:[eventfd]"), truncated to the buffer; false without /proc.
bool descriptor_target(int fd, char* target, size_t room);

}  // namespace anyzero
