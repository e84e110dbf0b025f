// The interface of a backend, one for each kind of device. It does not depend on the API.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anyzero {

// A run of bytes laid out in rows and slices; `row` bytes are used of each `row_pitch`.
struct Box {
  unsigned char* base;
  size_t row_pitch;
  size_t slice_pitch;
};

// Cache policy of written memory: by size, kept in the caches, or written past them.
enum class Caching : uint8_t { Usual, Keep, Bypass };

// Threading: every verb from any thread. Verbs run under a fault trap and hold no lock across user memory.
class Backend {
 public:
  virtual ~Backend() = default;

  // `capacity` is the requested size, rounded up. Once shared, `fd` and `offset` tell another process which bytes to map.
  struct Block {
    void* base = nullptr;
    size_t capacity = 0;
    int fd = -1;
    size_t offset = 0;
  };
  virtual bool allocate(size_t size, size_t alignment, Block* block) = 0;
  virtual void free(const Block& block) = 0;
  // Lets another process map the block; address and contents stay. False if the system is out of descriptors or memory.
  virtual bool share(Block* block) = 0;

  // Ordinary copies behave as memmove. Large ones are split over the worker pool.
  virtual void copy(void* to, const void* from, size_t size, Caching caching) = 0;
  virtual void fill(void* to, const void* pattern, size_t pattern_size, size_t size, Caching caching) = 0;
  virtual void copy_box(const Box& to, const Box& from, size_t row, size_t rows, size_t slices) = 0;
};

Backend& cpu_backend();

}  // namespace anyzero
