// Which bytes of a device allocation were written since it was made, for checks of uninitialized reads.
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

  // Of bytes that need not lie in the allocation: the others are not its business.
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

// A device allocation of which nothing was written yet; one that is gone.
void track_written(uintptr_t begin, size_t size);
void forget_written(uintptr_t begin);
void forget_all_written();
// Of the allocation around an address, while it is not complete; nullptr otherwise.
std::shared_ptr<WrittenMemory> written_memory(uintptr_t address);
// Somebody else than a checked kernel writes there, or may write all of the allocation.
void note_written(const void* begin, size_t size);
void note_all_written(const void* inside);

}  // namespace anyzero
