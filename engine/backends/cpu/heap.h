// The allocator of device, host and shared memory. Blocks up to 1 MiB are cut from 32 MiB chunks; larger ones have their own
// mapping (mapping.h). Memory is private to the process until it is exported. The heap's metadata is stored elsewhere, so a kernel
// that writes past the end of a buffer cannot corrupt it.
#pragma once

#include <cstddef>

#include "../backend.h"

namespace anyzero {

// Threading: any thread; the heap is divided into shards, each with its own short lock.
class Heap {
 public:
  static constexpr size_t kMinAlignment = 64;
  static constexpr size_t kLargestSmall = size_t{1} << 20;
  static constexpr size_t kChunk = size_t{32} << 20;

  // `alignment` is a power of two. Fresh memory is zero, reused memory keeps its old contents.
  static bool allocate(size_t size, size_t alignment, Backend::Block* block);

  // A block that another process still has open is not reused until that process has closed it.
  static void free(const Backend::Block& block);

  // Gives the block a descriptor and an offset that another process can map; address and contents stay. False if the system is out
  // of descriptors or memory.
  static bool share(Backend::Block* block);

  // Bytes of chunks and blocks that are currently mapped, including cached ones.
  static size_t mapped_bytes();
};

}  // namespace anyzero
