// Descriptors of a range of a memfd, which programs may send to other processes.
//
// Such a descriptor carries its range: its file position is the start, and a lock on the open file, which ends with the last copy,
// has the length. The lock also shows the owner of the memory that another process may still use it.
#pragma once

#include <cstdint>

namespace anyzero {

// The position also holds a tag, which the handle repeats, so that the two can be matched.
inline constexpr uint32_t kIpcTagBits = 23;

// A lock on the bytes, held by the open file; false with errno.
bool ipc_lock_bytes(int fd, uint64_t offset, uint64_t size);

// A new descriptor of the bytes for other processes; -1 with errno on failure. If the process has no descriptors left, its soft
// limit is raised to the hard limit first.
int ipc_lend(int fd, uint64_t offset, uint64_t size, uint32_t tag = 0);

// The same bytes as a DMA buffer, which drivers of other devices accept; -1 with errno on failure. Its users cannot be found out,
// so the bytes count as used until the process ends.
int ipc_dma_buffer(int fd, uint64_t offset, uint64_t size);

// The range of a descriptor: the bytes it was made for, or a whole file. False if it is no file.
bool ipc_describe(int fd, uint64_t* offset, uint64_t* size);

// The same for a descriptor with that tag of the file with that number; false, without an access, for all others.
bool ipc_describe_tagged(int fd, uint32_t file_number, uint32_t tag, uint64_t* offset, uint64_t* size);

// The inode number, truncated to the handle's field; 0 if unknown.
uint32_t ipc_file_number(int fd);

}  // namespace anyzero
