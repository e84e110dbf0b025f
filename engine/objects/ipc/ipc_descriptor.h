// Descriptors that stand for some bytes of a file in memory: lent to others, who send them on as they like.
//
// Such a descriptor knows what it stands for, wherever it goes: its position is the start of the bytes, and a lock on them, which
// goes with its last copy, tells their length. That lock also tells the owner of the memory that somebody may still use it.
#pragma once

#include <cstdint>

namespace anyzero {

// What else the position holds: a number that a handle repeats, by which the two know each other.
inline constexpr uint32_t kIpcTagBits = 23;

// A lock on the bytes, held by the open file; false with errno.
bool ipc_lock_bytes(int fd, uint64_t offset, uint64_t size);

// A new descriptor of the bytes for others to keep; -1 with errno on failure. Where the process has no descriptors left, its limit
// is raised as far as it goes first.
int ipc_lend(int fd, uint64_t offset, uint64_t size, uint32_t tag = 0);

// The same bytes as a DMA buffer, which drivers of other devices take; -1 with errno on failure. Nobody can tell who uses one, so
// the bytes count as used until the process ends.
int ipc_dma_buffer(int fd, uint64_t offset, uint64_t size);

// What a descriptor stands for: the bytes it was lent for, or a whole file. False when it is no file.
bool ipc_describe(int fd, uint64_t* offset, uint64_t* size);

// The same for one that was lent with that tag from the file with that number; false for all others, of which none is touched.
bool ipc_describe_tagged(int fd, uint32_t file_number, uint32_t tag, uint64_t* offset, uint64_t* size);

// The number of the file, as far as handles have room for it; 0 when it cannot be told.
uint32_t ipc_file_number(int fd);

}  // namespace anyzero
