#include "mapping.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <mutex>
#include <new>

#include "../../exec/trap.h"
#include "../../system/clock.h"
#include "../../system/memory_file.h"
#include "../../system/mutex.h"
#include "../../system/settings.h"
#include "../../system/thread.h"

namespace anyzero {

namespace {

constexpr size_t kKeptBlocks = 32;
constexpr size_t kGuard = kSystemPage;
constexpr size_t kLargest = size_t{1} << 46;

// Recently freed private blocks, oldest first: without them a loop of allocations would spend its time in page faults.
struct Kept {
  struct Entry {
    void* base;
    size_t capacity;
  };
  std::mutex mutex;
  Entry entries[kKeptBlocks];
  size_t count = 0;
  size_t bytes = 0;

  Entry take(size_t index) {
    Entry entry = entries[index];
    std::memmove(&entries[index], &entries[index + 1], (count - index - 1) * sizeof(Entry));
    --count;
    bytes -= entry.capacity;
    return entry;
  }
};

Kept& kept() {
  static Kept* kept = [] {
    // A child has only one thread, so the parent's thread that held the lock is gone.
    at_fork_child([] { new (&anyzero::kept()) Kept; });
    return new Kept;
  }();
  return *kept;
}

bool take_kept(size_t size, size_t alignment, Backend::Block* block) {
  Kept& k = kept();
  std::lock_guard lock(k.mutex);
  size_t best = k.count;
  for (size_t i = 0; i < k.count; ++i) {
    const Kept::Entry& entry = k.entries[i];
    bool fits =
        entry.capacity >= size && entry.capacity - size <= size / 8 && reinterpret_cast<uintptr_t>(entry.base) % alignment == 0;
    if (fits && (best == k.count || entry.capacity < k.entries[best].capacity)) best = i;
  }
  if (best == k.count) return false;
  Kept::Entry entry = k.take(best);
  *block = {.base = entry.base, .capacity = entry.capacity};
  return true;
}

bool drop_oldest() {
  Kept& k = kept();
  Kept::Entry entry;
  {
    std::lock_guard lock(k.mutex);
    if (k.count == 0) return false;
    entry = k.take(0);
  }
  unmap_aligned(entry.base, entry.capacity);
  return true;
}

// Blocks that are being moved into a file, and recently moved ones: a thread may have faulted before the end of the move and ask
// only now.
struct Move {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<uint64_t> arrived{0};  // time of the end of the move; 0 while moving
};
constexpr uint64_t kLately = 100'000'000;
Move moves[16];
std::atomic<uint32_t> next_move{0};

// Skips pages of zeros, so that untouched memory stays a hole in the file. The pages are write-protected, so no other thread can
// write to them; a race detector cannot know that.
__attribute__((no_sanitize("thread"), noinline)) void copy_page(uint64_t* to, const uint64_t* from) {
  constexpr size_t kWords = kSystemPage / 8;
  uint64_t any = 0;
  for (size_t i = 0; i < kWords && !any; i += 8)
    any = from[i] | from[i + 1] | from[i + 2] | from[i + 3] | from[i + 4] | from[i + 5] | from[i + 6] | from[i + 7];
  if (!any) return;
  for (size_t i = 0; i < kWords; ++i) to[i] = from[i];
}

// A write to a block that is being moved into a file faults. Waits for the end of the move, after which the write can be retried.
bool settle_fault(const FaultingAccess& access) {
  const uintptr_t address = access.address;
  for (Move& move : moves) {
    uintptr_t begin = move.begin.load();
    if (address < begin || address >= move.end.load()) continue;
    while (move.arrived.load() == 0) sched_yield();
    if (now_ns() - move.arrived.load() < kLately) return true;
  }
  return false;
}

}  // namespace

void* map_aligned(size_t size, size_t alignment, int fd) {
  size_t slack = (alignment > kSystemPage ? alignment : 0) + kGuard;
  void* reserved = mmap(nullptr, size + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  uintptr_t first = reinterpret_cast<uintptr_t>(reserved);
  uintptr_t base = round_up(first, alignment);
  uintptr_t end = base + size + kGuard, last = first + size + slack;
  if (base > first) munmap(reserved, base - first);
  if (last > end) munmap(reinterpret_cast<void*>(end), last - end);
  void* wanted = reinterpret_cast<void*>(base);
  int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (mmap(wanted, size, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0) == MAP_FAILED) {
    unmap_aligned(wanted, size);
    return nullptr;
  }
  return wanted;
}

void unmap_aligned(void* base, size_t size) { munmap(base, size + kGuard); }

namespace {

// Since Linux 6.13, pages of a mapping can be made to fault without splitting it. mprotect splits it: two mappings more for each
// guard, of the 65,530 that a process may have, and a TLB flush on all processors. The constants are newer than the C library's
// headers.
constexpr int kGuardInstall = 102, kGuardRemove = 103;
std::atomic<bool> guards_refused{false};

}  // namespace

bool guards_are_free() { return !guards_refused.load(std::memory_order_relaxed); }

bool install_guard(void* page) {
  if (madvise(page, kSystemPage, kGuardInstall) == 0) return true;
  guards_refused.store(true, std::memory_order_relaxed);
  return false;
}

bool remove_guard(void* pages, size_t size) { return madvise(pages, size, kGuardRemove) == 0; }

bool map_block(size_t size, size_t alignment, Backend::Block* block) {
  if (size > kLargest || alignment > kLargest) return false;
  size = round_up(size, kSystemPage);
  if (size >= kHugePage && alignment < kHugePage) alignment = kHugePage;
  if (alignment < kSystemPage) alignment = kSystemPage;
  if (take_kept(size, alignment, block)) return true;
  void* base = map_aligned(size, alignment, -1);
  while (!base && drop_oldest()) base = map_aligned(size, alignment, -1);
  if (!base) return false;
  if (size >= kHugePage) madvise(base, size, MADV_HUGEPAGE);
  *block = {.base = base, .capacity = size};
  return true;
}

void unmap_block(const Backend::Block& block) {
  // Other processes may map a file and keep it alive; it must never be reused for another allocation.
  if (block.fd >= 0 || block.capacity > settings.kept_bytes) {
    unmap_aligned(block.base, block.capacity);
    if (block.fd >= 0) close(block.fd);
    return;
  }
  Kept& k = kept();
  for (;;) {
    {
      std::lock_guard lock(k.mutex);
      if (k.count < kKeptBlocks && k.bytes + block.capacity <= settings.kept_bytes) {
        k.entries[k.count++] = {block.base, block.capacity};
        k.bytes += block.capacity;
        return;
      }
    }
    drop_oldest();
  }
}

bool move_pages(void* pages, size_t size, int fd, size_t offset) {
  static Mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  void* copy = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (copy == MAP_FAILED) return false;
  Move& move = moves[next_move.fetch_add(1, std::memory_order_relaxed) % std::size(moves)];
  uintptr_t base = reinterpret_cast<uintptr_t>(pages);
  move.end.store(0);  // no reader may pair an old begin with a new end
  move.arrived.store(0);
  move.begin.store(base);
  move.end.store(base + size);
  add_fault_settler(settle_fault);
  mprotect(pages, size, PROT_READ);
  for (size_t at = 0; at < size / 8; at += kSystemPage / 8)
    copy_page(static_cast<uint64_t*>(copy) + at, static_cast<const uint64_t*>(pages) + at);
  bool moved = mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, pages) != MAP_FAILED;
  if (!moved) {
    mprotect(pages, size, PROT_READ | PROT_WRITE);
    munmap(copy, size);
  }
  move.arrived.store(now_ns());
  return moved;
}

bool share_block(Backend::Block* block) {
  if (block->fd >= 0) return true;
  int fd = memory_file(block->capacity);
  if (fd < 0) return false;
  if (!move_pages(block->base, block->capacity, fd, 0)) {
    close(fd);
    return false;
  }
  block->fd = fd;
  block->offset = 0;
  return true;
}

size_t kept_bytes() {
  Kept& k = kept();
  std::lock_guard lock(k.mutex);
  return k.bytes;
}

}  // namespace anyzero
