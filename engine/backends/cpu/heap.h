// The allocator behind device, host and shared memory. Blocks up to 1 MiB are cut from 32 MiB chunks; larger ones have a mapping of
// their own (mapping.h). Memory is private to the process until some of it is exported. What the heap knows about its blocks lies
// elsewhere, so a kernel that writes past the end of a buffer cannot break it.
#pragma once

#include <cstddef>

#include "../backend.h"

namespace anyzero {

// Threading: any thread; the heap is cut into shards, each with a short lock of its own.
class Heap {
 public:
  static constexpr size_t kMinAlignment = 64;
  static constexpr size_t kLargestSmall = size_t{1} << 20;
  static constexpr size_t kChunk = size_t{32} << 20;

  // `alignment` is a power of two. Fresh memory is zero, reused memory is as it was left.
  static bool allocate(size_t size, size_t alignment, Backend::Block* block);

  // A block that another process still has open rests until that process has closed it.
  static void free(const Backend::Block& block);

  // Gives the block a descriptor and an offset that another process can map; the address and the contents stay. False when the
  // system has no descriptors or memory left.
  static bool share(Backend::Block* block);

  // Bytes of chunks and blocks that are mapped now, kept ones included.
  static size_t mapped_bytes();
};

}  // namespace anyzero
