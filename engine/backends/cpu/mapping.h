// Memory mapped from the operating system, one mapping per block: blocks too large for the heap's chunks, and the files behind
// memory that other processes may map.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../backend.h"

namespace anyzero {

inline constexpr size_t kSystemPage = 4096;
inline constexpr size_t kHugePage = size_t{2} << 20;

inline size_t round_up(size_t size, size_t multiple) { return (size + multiple - 1) & ~(multiple - 1); }  // powers of two only

// Address space of `size` bytes at a multiple of `alignment`, readable and writable: fresh private memory, or (fd >= 0) the start
// of a file. A guard page follows it.
void* map_aligned(size_t size, size_t alignment, int fd);
void unmap_aligned(void* base, size_t size);

// Guard pages inside of a mapping. They are used only if the system has guards that do not split the mapping: guards_are_free() is
// false once it has refused one. The pages lose their contents.
bool guards_are_free();
bool install_guard(void* page);
bool remove_guard(void* pages, size_t size);

// A block with its own mapping. It is private memory in huge pages, which a file in memory rarely gets: a first touch costs a
// seventh, and copies run a quarter faster. share() moves it into a file when another process is to map it. Threading: any thread.
bool map_block(size_t size, size_t alignment, Backend::Block* block);
void unmap_block(const Backend::Block& block);  // caches a few private ones for the next allocation
bool share_block(Backend::Block* block);

// Moves private pages into a file, in place. Threads that write to them meanwhile block; system calls that write to them fail with
// EFAULT.
bool move_pages(void* pages, size_t size, int fd, size_t offset);

// Bytes cached by unmap_block.
size_t kept_bytes();

}  // namespace anyzero
