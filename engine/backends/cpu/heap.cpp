#include "heap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <iterator>
#include <mutex>
#include <new>
#include <vector>

#include "../../system/memory_file.h"
#include "../../system/thread.h"
#include "mapping.h"

namespace anyzero {

namespace {

// Sizes up to kLargestSlot are rounded up to size classes and share slabs of 64 KiB; larger blocks are runs of whole pages.
constexpr uint32_t kClasses[] = {64,   128,  192,  256,  320,  384,  448,  512,  640,  768,  896,  1024,
                                 1280, 1536, 1792, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192};
constexpr uint32_t kClassCount = std::size(kClasses);
constexpr size_t kLargestSlot = kClasses[kClassCount - 1];
constexpr uint32_t kPages = Heap::kChunk / kSystemPage;
constexpr uint32_t kSlabPages = 16;
constexpr size_t kSlab = kSlabPages * kSystemPage;
constexpr uint32_t kMaxSlots = kSlab / kClasses[0];
constexpr uint32_t kShards = 8;
// Blocks of 64 KiB or more end at a guard page, as larger ones with their own mapping do.
constexpr uint32_t kGuardedPages = 16;

struct Shard;
struct Chunk;

struct Slab {
  Chunk* chunk;
  uint32_t first_page;
  uint32_t kind;  // index into kClasses
  uint32_t slots;
  uint32_t unused;
  Slab* next = nullptr;  // in the list of slabs with unused slots
  Slab* previous = nullptr;
  uint64_t unused_bits[kMaxSlots / 64] = {};
};

struct Chunk {
  unsigned char* base;
  int fd;
  Shard* shard;
  uint32_t generation;
  uint32_t unused = kPages;
  uint32_t hopeless = kPages + 1;  // no run of this length or longer is left
  uint32_t fresh = 0;              // pages from here on were never allocated
  uint64_t used_bits[kPages / 64] = {};
  uint64_t moved_bits[kPages / 64] = {};  // pages in the file, because a block on them was exported
  uint64_t guard_bits[kPages / 64] = {};  // guard pages: after a run, or after an earlier one
  uint16_t run[kPages] = {};              // by first page: length of the run that starts there, with its guard
  Slab* slab[kPages / kSlabPages] = {};
};

// A guard on fresh pages costs at most a thirtieth of the page faults that follow. On used pages it costs a page: a microsecond or
// two, several times the cost of the allocation. A loop that allocates the same sizes finds its guards in place; one that always
// allocates new sizes gets a guard only now and then.
class GuardBudget {
 public:
  void earn() {
    if (++allocations_ % kEvery == 0 && saved_ < kMost) ++saved_;
  }
  bool spend() { return saved_ && saved_--; }

 private:
  static constexpr uint32_t kEvery = 64, kMost = 64;
  uint32_t allocations_ = 0;
  uint32_t saved_ = kMost;
};

struct Shard {
  std::mutex mutex;
  std::vector<Chunk*> chunks;
  Slab* partial[kClassCount] = {};
  std::vector<Backend::Block> lent;  // freed here, still open in another process
  GuardBudget guards;
};

// Maps an address to its chunk without a lock. Chunks are aligned to their size, so 22 bits of a 47-bit address identify one.
class ChunkTable {
 public:
  Chunk* find(const void* address) const {
    size_t key = reinterpret_cast<uintptr_t>(address) / Heap::kChunk;
    if (key >= kLeaves * kLeaf) return nullptr;
    const Leaf* leaf = leaves_[key / kLeaf].load(std::memory_order_acquire);
    return leaf ? leaf->chunk[key % kLeaf].load(std::memory_order_acquire) : nullptr;
  }
  // False if there is no memory for the table.
  bool set(const void* address, Chunk* chunk) {
    size_t key = reinterpret_cast<uintptr_t>(address) / Heap::kChunk;
    if (key >= kLeaves * kLeaf) return false;
    std::atomic<Leaf*>& slot = leaves_[key / kLeaf];
    Leaf* leaf = slot.load(std::memory_order_acquire);
    if (!leaf) {
      Leaf* fresh = new (std::nothrow) Leaf;
      if (!fresh) return false;
      if (slot.compare_exchange_strong(leaf, fresh)) {
        leaf = fresh;
      } else {
        delete fresh;
      }
    }
    leaf->chunk[key % kLeaf].store(chunk, std::memory_order_release);
    return true;
  }

 private:
  static constexpr size_t kLeaf = 2048, kLeaves = 2048;
  struct Leaf {
    std::atomic<Chunk*> chunk[kLeaf] = {};
  };
  std::atomic<Leaf*> leaves_[kLeaves] = {};
};

struct State {
  Shard shards[kShards];
  ChunkTable table;
  std::atomic<size_t> mapped{0};
  std::atomic<uint32_t> generation{0};
};

State& state() {
  static State* state = [] {
    // The parent's threads may have been changing its chunks at the fork, and chunks with exported blocks are shared with the
    // parent. So a child neither allocates from them nor frees into them.
    at_fork_child([] {
      State& s = anyzero::state();
      s.generation.fetch_add(1);
      for (Shard& shard : s.shards) new (&shard) Shard;
    });
    return new State;  // leaked: memory is freed from exit handlers
  }();
  return *state;
}

Shard& own_shard() {
  static std::atomic<uint32_t> threads{0};
  thread_local uint32_t mine = threads.fetch_add(1, std::memory_order_relaxed) % kShards;
  return state().shards[mine];
}

// The first page at or after `from` that is used (or unused); kPages if there is none.
uint32_t next_page(const uint64_t* used, uint32_t from, bool wanted) {
  while (from < kPages) {
    uint64_t word = (wanted ? used[from / 64] : ~used[from / 64]) >> (from % 64);
    if (word) return from + static_cast<uint32_t>(std::countr_zero(word));
    from = (from / 64 + 1) * 64;
  }
  return kPages;
}

void mark_pages(uint64_t* used, uint32_t first, uint32_t count, bool value) {
  while (count) {
    uint32_t bit = first % 64, n = std::min(count, 64 - bit);
    uint64_t mask = (n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << bit;
    if (value) {
      used[first / 64] |= mask;
    } else {
      used[first / 64] &= ~mask;
    }
    first += n;
    count -= n;
  }
}

uint32_t find_run(const Chunk& chunk, uint32_t count, uint32_t alignment) {
  uint32_t at = 0;
  for (;;) {
    at = static_cast<uint32_t>(round_up(next_page(chunk.used_bits, at, false), alignment));
    if (at + count > kPages) return kPages;
    uint32_t end = next_page(chunk.used_bits, at, true);
    if (end - at >= count) return at;
    at = end;
  }
}

Chunk* add_chunk(Shard& shard) {
  State& s = state();
  void* base = map_aligned(Heap::kChunk, Heap::kChunk, -1);
  if (!base) return nullptr;
  auto* chunk = new (std::nothrow)
      Chunk{.base = static_cast<unsigned char*>(base), .fd = -1, .shard = &shard, .generation = s.generation.load()};
  if (!chunk || !s.table.set(base, chunk)) {
    delete chunk;
    unmap_aligned(base, Heap::kChunk);
    return nullptr;
  }
  s.mapped.fetch_add(Heap::kChunk, std::memory_order_relaxed);
  shard.chunks.push_back(chunk);
  return chunk;
}

void drop_chunk(Shard& shard, Chunk* chunk) {
  State& s = state();
  std::erase(shard.chunks, chunk);
  s.table.set(chunk->base, nullptr);
  unmap_aligned(chunk->base, Heap::kChunk);
  if (chunk->fd >= 0) close(chunk->fd);
  delete chunk;
  s.mapped.fetch_sub(Heap::kChunk, std::memory_order_relaxed);
}

// Makes pages usable. Guards stay in place when a run is freed: the next run is often as long as the last.
bool remove_guards(Chunk& chunk, uint32_t first, uint32_t end) {
  const uint32_t guard = next_page(chunk.guard_bits, first, true);
  if (guard >= end) return true;
  if (!remove_guard(chunk.base + guard * kSystemPage, (end - guard) * kSystemPage)) return false;
  mark_pages(chunk.guard_bits, guard, end - guard, false);
  return true;
}

void add_guard(Shard& shard, Chunk& chunk, uint32_t page) {
  // The first kernels with guards do not support them on file pages, and one refusal would turn guards off everywhere.
  const uint64_t not_to_do = chunk.guard_bits[page / 64] | chunk.moved_bits[page / 64];
  if (not_to_do >> (page % 64) & 1) return;
  if (page < chunk.fresh && !shard.guards.spend()) return;
  if (install_guard(chunk.base + page * kSystemPage)) mark_pages(chunk.guard_bits, page, 1, true);
}

// `guard` says whether the last page is a guard.
bool take_run(Shard& shard, uint32_t count, bool guard, uint32_t alignment, Chunk** where, uint32_t* page) {
  auto take = [&](Chunk* chunk) {
    if (chunk->unused < count || count >= chunk->hopeless) return false;
    uint32_t first = find_run(*chunk, count, alignment);
    if (first == kPages) {
      if (alignment == 1) chunk->hopeless = count;
      return false;
    }
    if (!remove_guards(*chunk, first, first + count - guard)) return false;
    if (guard) add_guard(shard, *chunk, first + count - 1);
    chunk->fresh = std::max(chunk->fresh, first + count);
    mark_pages(chunk->used_bits, first, count, true);
    chunk->unused -= count;
    chunk->run[first] = static_cast<uint16_t>(count);
    *where = chunk;
    *page = first;
    return true;
  };
  for (Chunk* chunk : shard.chunks)
    if (take(chunk)) return true;
  Chunk* chunk = add_chunk(shard);
  return chunk && take(chunk);
}

void give_back_run(Shard& shard, Chunk* chunk, uint32_t page) {
  uint32_t count = chunk->run[page];
  mark_pages(chunk->used_bits, page, count, false);
  chunk->run[page] = 0;
  chunk->unused += count;
  chunk->hopeless = kPages + 1;
  if (chunk->unused < kPages) return;
  // One empty chunk is kept, so that repeated allocation of a single block does not map and unmap each time.
  for (Chunk* other : shard.chunks)
    if (other != chunk && other->unused == kPages) return drop_chunk(shard, chunk);
}

void link(Shard& shard, Slab* slab) {
  slab->previous = nullptr;
  slab->next = shard.partial[slab->kind];
  if (slab->next) slab->next->previous = slab;
  shard.partial[slab->kind] = slab;
}

void unlink(Shard& shard, Slab* slab) {
  if (slab->previous) slab->previous->next = slab->next;
  if (slab->next) slab->next->previous = slab->previous;
  if (shard.partial[slab->kind] == slab) shard.partial[slab->kind] = slab->next;
}

Slab* add_slab(Shard& shard, uint32_t kind) {
  Chunk* chunk;
  uint32_t page;
  if (!take_run(shard, kSlabPages, false, kSlabPages, &chunk, &page)) return nullptr;
  uint32_t slots = kSlab / kClasses[kind];
  auto* slab = new (std::nothrow) Slab{.chunk = chunk, .first_page = page, .kind = kind, .slots = slots, .unused = slots};
  if (!slab) {
    give_back_run(shard, chunk, page);
    return nullptr;
  }
  for (uint32_t i = 0; i < slots; ++i) slab->unused_bits[i / 64] |= uint64_t{1} << (i % 64);
  chunk->slab[page / kSlabPages] = slab;
  link(shard, slab);
  return slab;
}

bool take_slot(Shard& shard, uint32_t kind, Backend::Block* block) {
  Slab* slab = shard.partial[kind];
  if (!slab) slab = add_slab(shard, kind);
  if (!slab) return false;
  uint32_t word = 0;
  while (!slab->unused_bits[word]) ++word;
  uint32_t slot = word * 64 + static_cast<uint32_t>(std::countr_zero(slab->unused_bits[word]));
  slab->unused_bits[word] &= slab->unused_bits[word] - 1;
  if (--slab->unused == 0) unlink(shard, slab);
  size_t offset = slab->first_page * kSystemPage + size_t{slot} * kClasses[kind];
  *block = {slab->chunk->base + offset, kClasses[kind], slab->chunk->fd, offset};
  return true;
}

void give_back_slot(Shard& shard, Slab* slab, size_t offset) {
  uint32_t slot = static_cast<uint32_t>((offset - slab->first_page * kSystemPage) / kClasses[slab->kind]);
  slab->unused_bits[slot / 64] |= uint64_t{1} << (slot % 64);
  if (++slab->unused == 1) link(shard, slab);
  bool spare = slab->next || slab->previous;
  if (slab->unused < slab->slots || !spare) return;
  unlink(shard, slab);
  Chunk* chunk = slab->chunk;
  uint32_t page = slab->first_page;
  chunk->slab[page / kSlabPages] = nullptr;
  delete slab;
  give_back_run(shard, chunk, page);
}

void give_back(Shard& shard, Chunk* chunk, const Backend::Block& block) {
  size_t offset = static_cast<size_t>(static_cast<unsigned char*>(block.base) - chunk->base);
  uint32_t page = static_cast<uint32_t>(offset / kSystemPage);
  if (Slab* slab = chunk->slab[page / kSlabPages]) return give_back_slot(shard, slab, offset);
  if (chunk->run[page]) give_back_run(shard, chunk, page);
}

// Processes that open a block lock its bytes (ipc.cpp); the kernel drops the lock when they close it or die.
bool open_elsewhere(const Backend::Block& block) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(block.offset);
  lock.l_len = static_cast<off_t>(block.capacity);
  return fcntl(block.fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void reclaim_lent(Shard& shard) {
  for (size_t i = shard.lent.size(); i-- > 0;) {
    if (open_elsewhere(shard.lent[i])) continue;
    Backend::Block block = shard.lent[i];
    shard.lent.erase(shard.lent.begin() + static_cast<ptrdiff_t>(i));
    give_back(shard, state().table.find(block.base), block);
  }
}

bool allocate_small(size_t size, size_t alignment, Backend::Block* block) {
  Shard& shard = own_shard();
  std::lock_guard lock(shard.mutex);
  if (!shard.lent.empty()) reclaim_lent(shard);
  if (size <= kLargestSlot && alignment <= kLargestSlot) {
    for (uint32_t kind = 0; kind < kClassCount; ++kind)
      if (kClasses[kind] >= size && kClasses[kind] % alignment == 0) return take_slot(shard, kind, block);
  }
  uint32_t pages = static_cast<uint32_t>(round_up(size, kSystemPage) / kSystemPage);
  uint32_t page_alignment = alignment > kSystemPage ? static_cast<uint32_t>(alignment / kSystemPage) : 1;
  Chunk* chunk;
  uint32_t page;
  const bool guard = pages >= kGuardedPages && guards_are_free();
  if (guard) shard.guards.earn();
  if (!take_run(shard, pages + guard, guard, page_alignment, &chunk, &page)) return false;
  *block = {chunk->base + page * kSystemPage, pages * kSystemPage, chunk->fd, page * kSystemPage};
  return true;
}

}  // namespace

bool Heap::allocate(size_t size, size_t alignment, Backend::Block* block) {
  if (size == 0) size = 1;
  if (alignment < kMinAlignment) alignment = kMinAlignment;
  if (size <= kLargestSmall && alignment <= kLargestSmall) return allocate_small(size, alignment, block);
  if (!map_block(size, alignment, block)) return false;
  state().mapped.fetch_add(block->capacity, std::memory_order_relaxed);
  return true;
}

void Heap::free(const Backend::Block& block) {
  if (!block.base) return;
  State& s = state();
  Chunk* chunk = s.table.find(block.base);
  if (!chunk) {
    s.mapped.fetch_sub(block.capacity, std::memory_order_relaxed);
    return unmap_block(block);
  }
  if (chunk->generation != s.generation.load(std::memory_order_relaxed)) return;
  Shard& shard = *chunk->shard;
  std::lock_guard lock(shard.mutex);
  Backend::Block shared = block;
  shared.fd = chunk->fd;
  if (chunk->fd >= 0 && open_elsewhere(shared)) {
    shard.lent.push_back(shared);
  } else {
    give_back(shard, chunk, block);
  }
}

bool Heap::share(Backend::Block* block) {
  Chunk* chunk = state().table.find(block->base);
  if (!chunk) return share_block(block);
  std::lock_guard lock(chunk->shard->mutex);
  if (chunk->fd < 0) chunk->fd = memory_file(kChunk);
  if (chunk->fd < 0) return false;
  // Only the pages of this block, because neighbouring blocks may be used by a system call.
  const uint32_t end = static_cast<uint32_t>((block->offset + block->capacity + kSystemPage - 1) / kSystemPage);
  for (uint32_t page = static_cast<uint32_t>(block->offset / kSystemPage); page < end;) {
    const uint32_t first = next_page(chunk->moved_bits, page, false);
    page = std::min(next_page(chunk->moved_bits, first, true), end);
    if (first >= end) break;
    if (!move_pages(chunk->base + first * kSystemPage, (page - first) * kSystemPage, chunk->fd, first * kSystemPage)) return false;
    mark_pages(chunk->moved_bits, first, page - first, true);
  }
  block->fd = chunk->fd;
  return true;
}

size_t Heap::mapped_bytes() { return state().mapped.load(std::memory_order_relaxed) + kept_bytes(); }

}  // namespace anyzero
