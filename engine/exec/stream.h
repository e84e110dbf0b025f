// Packets in the order they were appended, in chunks that grow.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "packet.h"

namespace anyzero {

struct Chunk {
  std::atomic<Chunk*> next;
  std::atomic<uint32_t> used;  // only grows; a reader that knows of a packet sees at least its end
  uint32_t capacity;

  unsigned char* bytes() { return reinterpret_cast<unsigned char*>(this + 1); }

  static Chunk* make(size_t capacity) {
    void* memory = std::malloc(sizeof(Chunk) + capacity);
    if (!memory) throw std::bad_alloc();
    Chunk* chunk = static_cast<Chunk*>(memory);
    new (chunk) Chunk{nullptr, 0, static_cast<uint32_t>(capacity)};
    return chunk;
  }
};
static_assert(sizeof(Chunk) % alignof(Packet) == 0);

// A place in a chain of chunks.
struct Cursor {
  Chunk* chunk = nullptr;
  uint32_t offset = 0;

  // The packet here; call only if there is one. Steps into the next chunk if this one is consumed.
  Packet& packet() {
    while (offset == chunk->used.load(std::memory_order_acquire)) {
      chunk = chunk->next.load(std::memory_order_acquire);
      offset = 0;
    }
    return *reinterpret_cast<Packet*>(chunk->bytes() + offset);
  }
  void advance(const Packet& packet) { offset += packet.size; }
};

inline constexpr size_t kFirstChunk = 2048;
inline constexpr size_t kLargestChunk = 64 * 1024;
inline constexpr size_t kLargestPacket = 1u << 30;

// Threading: one writer at a time.
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Chunk* first() const { return first_; }

  // Space for a packet of `size` bytes (a multiple of 8). Nothing is published until commit.
  void* reserve(size_t size) {
    if (!last_ || last_->capacity - last_->used.load(std::memory_order_relaxed) < size) grow(size);
    return last_->bytes() + last_->used.load(std::memory_order_relaxed);
  }
  void commit(size_t size) {
    last_->used.store(last_->used.load(std::memory_order_relaxed) + static_cast<uint32_t>(size), std::memory_order_release);
  }

  // Takes back a chunk that all readers have left, for the next growth.
  void recycle(Chunk* chunk) {
    Chunk* expected = nullptr;
    if (!spare_.compare_exchange_strong(expected, chunk, std::memory_order_acq_rel)) std::free(chunk);
  }

  // Drops all packets, but keeps the first chunk. Only for streams without readers.
  void rewind() {
    if (!first_) return;
    Chunk* rest = first_->next.exchange(nullptr, std::memory_order_relaxed);
    first_->used.store(0, std::memory_order_relaxed);
    last_ = first_;
    while (rest) {
      Chunk* next = rest->next.load(std::memory_order_relaxed);
      recycle(rest);
      rest = next;
    }
  }

  void free_from(Chunk* chunk) {
    while (chunk) {
      Chunk* next = chunk->next.load(std::memory_order_relaxed);
      std::free(chunk);
      chunk = next;
    }
    std::free(spare_.exchange(nullptr));
    first_ = last_ = nullptr;
  }

 private:
  [[gnu::cold, gnu::noinline]] void grow(size_t size) {
    Chunk* chunk = spare_.exchange(nullptr, std::memory_order_acq_rel);
    if (chunk && chunk->capacity < size) {
      std::free(chunk);
      chunk = nullptr;
    }
    if (chunk) {
      chunk->used.store(0, std::memory_order_relaxed);
      chunk->next.store(nullptr, std::memory_order_relaxed);
    } else {
      size_t usual = last_ ? std::min(kLargestChunk, size_t{last_->capacity} * 4) : kFirstChunk;
      chunk = Chunk::make(std::max(usual, size));
    }
    if (last_) {
      last_->next.store(chunk, std::memory_order_release);
    } else {
      first_ = chunk;
    }
    last_ = chunk;
  }

  Chunk* first_ = nullptr;
  Chunk* last_ = nullptr;
  std::atomic<Chunk*> spare_{nullptr};
};

}  // namespace anyzero
