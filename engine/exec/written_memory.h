// The bytes of a device allocation that were written since it was made, for checks of uninitialized reads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace anyzero {

class WrittenMemory {
 public:
  WrittenMemory(uintptr_t begin, size_t size);
  ~WrittenMemory();
  WrittenMemory(const WrittenMemory&) = delete;
  WrittenMemory& operator=(const WrittenMemory&) = delete;

  // The range may extend beyond the allocation; bytes outside are ignored.
  void write(uintptr_t address, size_t size);
  bool all_written(uintptr_t address, size_t size) const;
  bool complete() const { return left_.load(std::memory_order_relaxed) == 0; }

 private:
  template <class F>
  void each_word(uintptr_t address, size_t size, F&& visit) const;

  uintptr_t begin_;
  size_t size_;
  std::atomic<uint64_t>* bits_;  // one for each byte; nullptr without memory for them
  std::atomic<uint64_t> left_;
};

// Registers a new device allocation; removes a freed one.
void track_written(uintptr_t begin, size_t size);
void forget_written(uintptr_t begin);
void forget_all_written();
// The record of the allocation around an address, until all of it was written; nullptr otherwise.
std::shared_ptr<WrittenMemory> written_memory(uintptr_t address);
// Marks memory that something other than a checked kernel writes, or an allocation that it may write.
void note_written(const void* begin, size_t size);
void note_all_written(const void* inside);

}  // namespace anyzero
