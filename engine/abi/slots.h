// Where objects live: one reserved address range, cut into slots that are never unmapped and never change their size class.
// So any value a program passes as a handle can be judged without touching memory that is not ours.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace anyzero {

inline constexpr size_t kSlotAlignment = 64;

class SlotRange {
 public:
  // True for the address of a slot boundary inside memory that has been handed out.
  static bool contains(const void* address) {
    uintptr_t offset = reinterpret_cast<uintptr_t>(address) - base_;
    return offset < used_.load(std::memory_order_acquire) && offset % kSlotAlignment == 0;
  }

  // Hands out fresh, zeroed, readable memory; throws std::bad_alloc when the range is spent.
  static void* grow(size_t size);

 private:
  static uintptr_t base_;
  static std::atomic<uintptr_t> used_;
};

// Slots of one kind of object. A freed slot rests behind `kQuarantine` others before it is used again, so that a stale handle is
// noticed rather than taken for a new object. Threading: any thread.
class SlotPool {
 public:
  explicit SlotPool(size_t object_size);
  void* take();
  void give_back(void* slot);

 private:
  struct Free {
    // Behind Header, whose tag must stay readable as zero.
    alignas(kSlotAlignment) unsigned char header[kSlotAlignment];
    Free* next;
  };
  static constexpr size_t kQuarantine = 64;
  static constexpr size_t kSlab = 64 * 1024;

  static void after_fork();

  SlotPool* next_pool_;  // all pools, so that a forked child can free locks whose holders stayed behind
  std::mutex mutex_;
  size_t slot_size_;
  unsigned char* fresh_ = nullptr;
  unsigned char* fresh_end_ = nullptr;
  Free* oldest_ = nullptr;
  Free* newest_ = nullptr;
  size_t resting_ = 0;
};

}  // namespace anyzero
