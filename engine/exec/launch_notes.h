// Notes of one launch: accesses of global memory by all its threads, and the places in the kernel that they come from.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "../system/mutex.h"
#include "access_shadow.h"
#include "written_memory.h"

namespace anyzero {

struct NoteSite;
struct RunningLaunch;

// A range of memory with notes for each page, which are allocated on first use.
class NotedRegion {
 public:
  static constexpr unsigned kPageBits = 12;
  static constexpr uintptr_t kPage = uintptr_t{1} << kPageBits;

  NotedRegion(uintptr_t begin, uintptr_t size, bool allocated);
  ~NotedRegion();
  NotedRegion(const NotedRegion&) = delete;
  NotedRegion& operator=(const NotedRegion&) = delete;

  bool contains(uintptr_t address) const { return address - begin_ < size_; }
  uintptr_t begin() const { return begin_; }
  // False for memory that is no allocation of the driver's, and may not be mapped.
  bool allocated() const { return allocated_; }
  // The notes of the page around `address`, with arrays for `granules` of at least this class. False without memory for them.
  bool page(uintptr_t address, AccessClass wanted, size_t granules, Notes* found);

  std::shared_ptr<WrittenMemory> written;  // nullptr once all of it was written

 private:
  struct Page {
    std::atomic<uint64_t*> of[kAccessClasses];
  };
  uintptr_t begin_, size_, first_page_;
  size_t page_count_;
  std::atomic<size_t> granules_{0};  // of a page
  bool allocated_;
  Page* pages_;
};

struct NotedPlace {
  std::atomic<const NoteSite*> site{nullptr};
  std::atomic<uintptr_t> instruction{0};
};

struct LaunchNotes {
  uint64_t serial;    // of the launch
  const void* frame;  // the stack address of its RunningLaunch
  bool races, init, sync;
  uint64_t group_items;
  unsigned shift;
  std::array<NotedPlace, kLastSite + 1> places;
  std::atomic<uint32_t> granule{0};
  std::atomic<uint32_t> used_places{0};  // an upper bound of the used entries

  // Functions that are called by address may have been compiled with another granule than the kernel: their accesses are not noted.
  bool agrees_on(uint32_t size) {
    uint32_t first = granule.load(std::memory_order_relaxed);
    if (first == size) return true;
    return first == 0 && (granule.compare_exchange_strong(first, size, std::memory_order_relaxed) || first == size);
  }

  // The region around an address; nullptr if its accesses are not noted.
  NotedRegion* region(uintptr_t address);

  void clear();

 private:
  static constexpr uint32_t kMostRegions = 1024;
  std::array<std::atomic<NotedRegion*>, kMostRegions> regions_{};
  std::atomic<uint32_t> count_{0};
  Mutex mutex_;
};

// Called before and after a launch of a kernel that notes its accesses. The notes of a launch that faults are cleared by the next
// launch of its thread.
void prepare_notes(RunningLaunch& running, const struct Launch& launch);
void finish_notes(RunningLaunch& running);
// Called for a launch of a kernel that notes nothing: it may write all memory that its arguments point to, and
// their images.
void note_unchecked_launch(const struct Launch& launch);

}  // namespace anyzero
