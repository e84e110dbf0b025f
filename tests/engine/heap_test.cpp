// The allocator: no two blocks overlap, alignments hold, contents stay, memory comes back, sharing loses nothing.
#undef NDEBUG
#include "backends/cpu/heap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "backends/cpu/mapping.h"
#include "exec/trap.h"
#include "system/settings.h"

using namespace anyzero;
using Block = Backend::Block;

namespace {

// All live blocks, to see that none overlaps another.
class Live {
 public:
  void add(const Block& block) {
    uintptr_t begin = reinterpret_cast<uintptr_t>(block.base), end = begin + block.capacity;
    std::lock_guard lock(mutex_);
    auto next = ranges_.lower_bound(begin);
    assert(next == ranges_.end() || next->first >= end);
    assert(next == ranges_.begin() || std::prev(next)->second <= begin);
    ranges_[begin] = end;
  }
  void remove(const Block& block) {
    std::lock_guard lock(mutex_);
    assert(ranges_.erase(reinterpret_cast<uintptr_t>(block.base)) == 1);
  }

 private:
  std::mutex mutex_;
  std::map<uintptr_t, uintptr_t> ranges_;
};

struct Owned {
  Block block;
  size_t size;
  uint64_t mark;
};

// Marks every page, the first and the last bytes.
void each_mark(const Owned& owned, void (*visit)(unsigned char*, unsigned char)) {
  auto* bytes = static_cast<unsigned char*>(owned.block.base);
  for (size_t at = 0; at < owned.size; at += 4096) visit(bytes + at, static_cast<unsigned char>(owned.mark + at / 4096));
  visit(bytes + owned.size - 1, static_cast<unsigned char>(owned.mark ^ 0x5a));
}
void write_marks(const Owned& owned) {
  each_mark(owned, [](unsigned char* at, unsigned char value) { *at = value; });
}
void check_marks(const Owned& owned) {
  if (owned.size % 4096 == 1) return;  // the last byte is a page's first
  each_mark(owned, [](unsigned char* at, unsigned char value) { assert(*at == value); });
}

size_t random_size(std::mt19937_64& random) {
  switch (random() % 8) {
    case 0:
      return 1 + random() % 64;
    case 1:
      return (size_t{1} << (random() % 21)) + random() % 3;
    case 2:
      return 4096 * (1 + random() % 64);
    case 3:
      return 1 + random() % (size_t{1} << 20);
    case 4:
      return random() % 20 == 0 ? 1 + random() % (size_t{6} << 20) : 1 + random() % 1000;
    default:
      return 1 + random() % 16384;
  }
}

void churn(Live& live, uint64_t seed, int rounds) {
  std::mt19937_64 random(seed);
  std::vector<Owned> owned;
  for (int i = 0; i < rounds; ++i) {
    if (owned.size() < 200 && (owned.empty() || random() % 5 != 0)) {
      Owned o{{}, random_size(random), random()};
      size_t alignment = random() % 4 ? 0 : size_t{1} << (random() % 23);
      assert(Heap::allocate(o.size, alignment, &o.block));
      uintptr_t address = reinterpret_cast<uintptr_t>(o.block.base);
      assert(o.block.capacity >= o.size && address % 64 == 0);
      assert(alignment == 0 || address % alignment == 0);
      live.add(o.block);
      write_marks(o);
      if (random() % 50 == 0) assert(Heap::share(&o.block) && o.block.fd >= 0);
      owned.push_back(o);
    } else {
      size_t which = random() % owned.size();
      check_marks(owned[which]);
      live.remove(owned[which].block);
      Heap::free(owned[which].block);
      owned[which] = owned.back();
      owned.pop_back();
    }
  }
  for (const Owned& o : owned) {
    check_marks(o);
    live.remove(o.block);
    Heap::free(o.block);
  }
}

void test_random() {
  Live live;
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 6; ++i) threads.emplace_back(churn, std::ref(live), i + 1, 4000);
  for (std::thread& thread : threads) thread.join();
  // Every shard may keep an empty chunk and what slabs it has; freed mappings are kept up to a limit.
  assert(Heap::mapped_bytes() <= 8 * 2 * Heap::kChunk + (size_t{256} << 20));
}

void test_kept_limit() {
  constexpr size_t kLarge = size_t{9} << 20;  // of no use to the blocks of the other tests
  const uint64_t usual = settings.kept_bytes;
  for (uint64_t limit : {uint64_t{0}, uint64_t{2 * kLarge}}) {
    settings.kept_bytes = limit;
    Block blocks[4];
    for (Block& block : blocks) assert(Heap::allocate(kLarge, 64, &block));
    for (Block& block : blocks) Heap::free(block);
    assert(kept_bytes() == limit);
  }
  settings.kept_bytes = usual;
}

void test_reuse() {
  Block warm;
  assert(Heap::allocate(5 << 20, 64, &warm));
  Heap::free(warm);
  size_t before = Heap::mapped_bytes();
  for (int i = 0; i < 10000; ++i) {
    Block small, large;
    assert(Heap::allocate(100 + i % 3000, 64, &small) && Heap::allocate(5 << 20, 64, &large));
    assert(large.base == warm.base);
    Heap::free(small);
    Heap::free(large);
  }
  assert(Heap::mapped_bytes() <= before + Heap::kChunk);
  // Fragmentation: every other block of many sizes is freed, and the holes serve again.
  std::vector<Block> blocks;
  for (int i = 0; i < 20000; ++i) {
    Block block;
    assert(Heap::allocate(64 + i % 1000, 64, &block));
    blocks.push_back(block);
  }
  size_t full = Heap::mapped_bytes();
  for (int round = 0; round < 5; ++round) {
    for (size_t i = 0; i < blocks.size(); i += 2) Heap::free(blocks[i]);
    for (size_t i = 0; i < blocks.size(); i += 2) assert(Heap::allocate(64 + i % 1000, 64, &blocks[i]));
  }
  assert(Heap::mapped_bytes() == full);
  for (const Block& block : blocks) Heap::free(block);
}

void test_limits() {
  Block block;
  assert(!Heap::allocate(SIZE_MAX, 64, &block));
  assert(!Heap::allocate(size_t{1} << 62, 64, &block));
  for (size_t alignment = 1; alignment <= size_t{1} << 30; alignment *= 2) {
    assert(Heap::allocate(100, alignment, &block));
    assert(reinterpret_cast<uintptr_t>(block.base) % alignment == 0);
    Heap::free(block);
  }
  assert(Heap::allocate(size_t{3} << 20, 64, &block));
  assert(reinterpret_cast<uintptr_t>(block.base) % kHugePage == 0);
  Heap::free(block);
  Heap::free(Block{});
}

// Another mapping of a shared block shows the same bytes, both ways.
void test_share(size_t size) {
  Block block;
  assert(Heap::allocate(size, 64, &block));
  auto* bytes = static_cast<unsigned char*>(block.base);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(i * 7);
  assert(Heap::share(&block) && block.fd >= 0 && block.base == bytes);
  size_t start = block.offset / 4096 * 4096, inside = block.offset - start;
  void* other = mmap(nullptr, inside + size, PROT_READ | PROT_WRITE, MAP_SHARED, block.fd, static_cast<off_t>(start));
  assert(other != MAP_FAILED);
  auto* seen = static_cast<unsigned char*>(other) + inside;
  for (size_t i = 0; i < size; ++i) assert(bytes[i] == static_cast<unsigned char>(i * 7) && seen[i] == bytes[i]);
  seen[size / 2] = 99;
  assert(bytes[size / 2] == 99);
  bytes[size - 1] = 98;
  assert(seen[size - 1] == 98);
  munmap(other, inside + size);
  assert(ftruncate(block.fd, 0) != 0);  // nobody may cut it off
  Heap::free(block);
}

// Threads write while a block moves into its file: no write is lost.
void test_share_under_fire() {
  install_traps();
  for (int round = 0; round < 10; ++round) {
    constexpr size_t kWords = (size_t{8} << 20) / 8;
    Block block;
    assert(Heap::allocate(kWords * 8, 64, &block));
    auto* words = static_cast<uint64_t*>(block.base);
    std::memset(words, 0, kWords * 8);
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> stores[2]{};
    auto await_stores = [&] {
      for (auto& count : stores)
        for (const uint64_t before = count; count < before + 1000;) std::this_thread::yield();
    };
    std::vector<uint64_t> written[2];
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 2; ++t) {
      written[t].resize(kWords);
      threads.emplace_back([&, t] {
        std::mt19937_64 random(t);
        for (uint64_t n = 1; !stop.load(std::memory_order_relaxed); ++n) {
          size_t at = (random() % (kWords / 2)) * 2 + t;
          std::atomic_ref(words[at]).store(n, std::memory_order_relaxed);
          written[t][at] = n;
          stores[t].store(n, std::memory_order_relaxed);
        }
      });
    }
    await_stores();
    assert(Heap::share(&block));
    await_stores();
    stop = true;
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < kWords; ++i) assert(words[i] == written[i % 2][i]);
    Heap::free(block);
  }
}

// A small block that another process has open is not reused.
void test_lent() {
  Block block;
  assert(Heap::allocate(3000, 64, &block) && Heap::share(&block));
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", block.fd);
  int other = open(path, O_RDWR | O_CLOEXEC);
  struct flock lock = {};
  lock.l_type = F_RDLCK;
  lock.l_start = static_cast<off_t>(block.offset);
  lock.l_len = 3000;
  assert(other >= 0 && fcntl(other, F_OFD_SETLK, &lock) == 0);
  Heap::free(block);
  std::vector<Block> taken;
  for (int i = 0; i < 100; ++i) {
    Block next;
    assert(Heap::allocate(3000, 64, &next) && next.base != block.base);
    taken.push_back(next);
  }
  close(other);
  bool returned = false;
  for (int i = 0; i < 100; ++i) {
    Block next;
    assert(Heap::allocate(3000, 64, &next));
    returned |= next.base == block.base;
    taken.push_back(next);
  }
  assert(returned);
  for (const Block& t : taken) Heap::free(t);
}

// A child has the parent's memory, but not the parent's heap.
void test_fork() {
  Block block;
  assert(Heap::allocate(1000, 64, &block));
  std::memset(block.base, 7, 1000);
  pid_t child = fork();
  if (child == 0) {
    Heap::free(block);
    for (int i = 0; i < 1000; ++i) {
      Block own;
      if (!Heap::allocate(1000, 64, &own)) _exit(1);
      if (own.fd == block.fd) _exit(2);
      std::memset(own.base, 9, 1000);
    }
    _exit(0);
  }
  int status = 0;
  assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  for (int i = 0; i < 1000; ++i) assert(static_cast<unsigned char*>(block.base)[i] == 7);
  Heap::free(block);
}

}  // namespace

int main() {
  test_kept_limit();  // first: nothing is kept yet
  test_limits();
  test_reuse();
  test_random();
  for (size_t size : {size_t{1}, size_t{64}, size_t{5000}, size_t{300000}, size_t{1} << 20, (size_t{1} << 20) + 1, size_t{5} << 20})
    test_share(size);
  test_lent();
  test_fork();
  test_share_under_fire();
  std::puts("heap_test: ok");
  return 0;
}
