// The bytes of a device allocation or an image that were written since it was made, for checks of uninitialized reads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace anyzero {

class WrittenMemory {
 public:
  WrittenMemory(uintptr_t begin, size_t size, std::string made);
  ~WrittenMemory();
  WrittenMemory(const WrittenMemory&) = delete;
  WrittenMemory& operator=(const WrittenMemory&) = delete;

  // The range may extend beyond the allocation; bytes outside are ignored.
  void write(uintptr_t address, size_t size);
  bool all_written(uintptr_t address, size_t size) const;
  bool any_written(uintptr_t address, size_t size) const;
  // The call that made an image, in words; empty for other memory, which is known by its address.
  const std::string& made() const { return made_; }
  bool complete() const { return left_.load(std::memory_order_relaxed) == 0; }

 private:
  template <class F>
  void each_word(uintptr_t address, size_t size, F&& visit) const;

  uintptr_t begin_;
  size_t size_;
  std::string made_;
  std::atomic<uint64_t>* bits_;  // one for each byte; nullptr without memory for them
  std::atomic<uint64_t> left_;
};

// Registers a new device allocation or an image's memory; removes one by any of its addresses, which is about to be freed.
void track_written(uintptr_t begin, size_t size, std::string made = {});
void forget_written(uintptr_t inside);
// The record of the allocation around an address, until all of it was written; nullptr otherwise.
std::shared_ptr<WrittenMemory> written_memory(uintptr_t address);
// Marks memory that something other than a checked kernel writes, or an allocation that it may write.
void note_written(const void* begin, size_t size);
void note_all_written(const void* inside);

}  // namespace anyzero
