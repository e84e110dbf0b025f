#include "slots.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "../system/thread.h"

// Defined if the program or this library is built with the leak checker.
extern "C" __attribute__((weak)) void __lsan_register_root_region(const void* begin, size_t size);

namespace anyzero {

namespace {

constexpr size_t kRangeSize = size_t{16} << 30;  // address space only; memory is committed slab by slab
std::mutex range_mutex;
SlotPool* all_pools = nullptr;

uintptr_t reserve_range() {
  void* range = mmap(nullptr, kRangeSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return 0;
  // Memory referenced only by objects is no leak, but a leak checker does not know this range.
  if (__lsan_register_root_region) __lsan_register_root_region(range, kRangeSize);
  return reinterpret_cast<uintptr_t>(range);
}

}  // namespace

uintptr_t SlotRange::base_ = reserve_range();
std::atomic<uintptr_t> SlotRange::used_{0};

void* SlotRange::grow(size_t size) {
  std::lock_guard lock(range_mutex);
  uintptr_t offset = used_.load(std::memory_order_relaxed);
  if (base_ == 0 || size > kRangeSize - offset) throw std::bad_alloc();
  void* memory = reinterpret_cast<void*>(base_ + offset);
  if (mprotect(memory, size, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  used_.store(offset + size, std::memory_order_release);
  return memory;
}

SlotPool::SlotPool(size_t object_size)
    : slot_size_(std::max(sizeof(Free), (object_size + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment)) {
  std::lock_guard lock(range_mutex);
  if (!all_pools) at_fork_child(after_fork);
  next_pool_ = all_pools;
  all_pools = this;
}

void SlotPool::after_fork() {
  new (&range_mutex) std::mutex;
  for (SlotPool* pool = all_pools; pool; pool = pool->next_pool_) {
    new (&pool->mutex_) std::mutex;
    // The thread that held the lock may have been in the middle of a change, so the free slots are abandoned.
    pool->oldest_ = pool->newest_ = nullptr;
    pool->resting_ = 0;
  }
}

void* SlotPool::take() {
  std::lock_guard lock(mutex_);
  if (resting_ > kQuarantine) {
    Free* slot = oldest_;
    oldest_ = slot->next;
    --resting_;
    return slot;
  }
  if (static_cast<size_t>(fresh_end_ - fresh_) < slot_size_) {
    size_t slab = (std::max(kSlab, slot_size_) + 4095) / 4096 * 4096;
    fresh_ = static_cast<unsigned char*>(SlotRange::grow(slab));
    fresh_end_ = fresh_ + slab;
  }
  void* slot = fresh_;
  fresh_ += slot_size_;
  return slot;
}

void SlotPool::give_back(void* slot) {
  std::lock_guard lock(mutex_);
  Free* free = static_cast<Free*>(slot);
  free->next = nullptr;
  if (resting_ == 0) {
    oldest_ = free;
  } else {
    newest_->next = free;
  }
  newest_ = free;
  ++resting_;
}

}  // namespace anyzero
