// Memory of objects: one reserved address range, divided into slots that are never unmapped and never change their size class. So
// any value that a program passes as a handle can be checked without touching foreign memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace anyzero {

inline constexpr size_t kSlotAlignment = 64;

class SlotRange {
 public:
  // True for the address of a slot boundary inside allocated memory.
  static bool contains(const void* address) {
    uintptr_t offset = reinterpret_cast<uintptr_t>(address) - base_;
    return offset < used_.load(std::memory_order_acquire) && offset % kSlotAlignment == 0;
  }

  // Allocates zeroed, readable memory; throws std::bad_alloc if the range is exhausted.
  static void* grow(size_t size);

 private:
  static uintptr_t base_;
  static std::atomic<uintptr_t> used_;
};

// Slots for one kind of object. A freed slot waits behind `kQuarantine` others before it is reused, so that a stale handle is
// detected instead of taken for a new object. Threading: any thread.
class SlotPool {
 public:
  explicit SlotPool(size_t object_size);
  void* take();
  void give_back(void* slot);

 private:
  struct Free {
    // After Header, whose tag must stay readable as zero.
    alignas(kSlotAlignment) unsigned char header[kSlotAlignment];
    Free* next;
  };
  static constexpr size_t kQuarantine = 64;
  static constexpr size_t kSlab = 64 * 1024;

  static void after_fork();

  SlotPool* next_pool_;  // all pools, so that a forked child can reset locks held by the parent's threads
  std::mutex mutex_;
  size_t slot_size_;
  unsigned char* fresh_ = nullptr;
  unsigned char* fresh_end_ = nullptr;
  Free* oldest_ = nullptr;
  Free* newest_ = nullptr;
  size_t resting_ = 0;
};

}  // namespace anyzero
