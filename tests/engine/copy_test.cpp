// Copies, fills and boxes against plain loops: every size around a border, every misalignment, overlaps, odd patterns.
#undef NDEBUG
#include "backends/cpu/copy.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "system/settings.h"

using namespace anyzero;

namespace {

constexpr size_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr size_t kSlack = 4096;
constexpr size_t kMost = 12 * kMiB;
#if defined(__SANITIZE_THREAD__)
constexpr uint64_t kThreads[] = {2};  // one has no races, three have no others, and it is slow
#else
constexpr uint64_t kThreads[] = {1, 2, 3};
#endif

std::mt19937_64 generator(42);

// Random bytes, cut out of one long run of them.
std::vector<unsigned char> random_bytes(size_t size) {
  static const std::vector<uint64_t> pool = [] {
    std::vector<uint64_t> words((kMost + 16 * kSlack) / 8);
    for (uint64_t& word : words) word = generator();
    return words;
  }();
  const auto* bytes = reinterpret_cast<const unsigned char*>(pool.data());
  return {bytes, bytes + size};
}

// Everything outside [begin, begin + size) must be as before.
void check_copy(size_t size, size_t to_shift, size_t from_shift) {
  static std::vector<unsigned char> from = random_bytes(kMost + kSlack);
  static std::vector<unsigned char> to(kMost + kSlack, 0xee);
  copy_memory(to.data() + to_shift, from.data() + from_shift, size);
  assert(std::memcmp(to.data() + to_shift, from.data() + from_shift, size) == 0);
  for (size_t i = 0; i < to_shift; ++i) assert(to[i] == 0xee);
  for (size_t i = 0; i < 512; ++i) assert(to[to_shift + size + i] == 0xee);
  std::memset(to.data() + to_shift, 0xee, size);
}

void test_copy() {
  for (size_t size = 0; size <= 600; ++size) check_copy(size, size % 67, size % 61);
  const size_t borders[] = {256 * kKiB, 384 * kKiB, kMiB, 4 * kMiB, 5 * kMiB, 10 * kMiB};
  for (size_t border : borders)
    for (ptrdiff_t delta : {-65, -64, -63, -1, 0, 1, 63, 64, 65, 255, 256, 257})
      check_copy(border + static_cast<size_t>(delta), generator() % 200, generator() % 200);
  for (size_t shift = 0; shift < 64; shift += 3) check_copy(4 * kMiB + 17, shift, 63 - shift);
}

void check_overlap(size_t size, ptrdiff_t distance) {
  std::vector<unsigned char> mine = random_bytes(size + kSlack * 2 + static_cast<size_t>(std::labs(distance)));
  std::vector<unsigned char> plain = mine;
  size_t from = distance < 0 ? static_cast<size_t>(-distance) + 5 : 5;
  size_t to = static_cast<size_t>(static_cast<ptrdiff_t>(from) + distance);
  copy_memory(mine.data() + to, mine.data() + from, size);
  std::memmove(plain.data() + to, plain.data() + from, size);
  assert(mine == plain);
}

void test_overlap() {
  for (size_t size : {size_t{1}, size_t{100}, 256 * kKiB, 300 * kKiB, 5 * kMiB})
    for (ptrdiff_t distance : {0, 1, 7, 64, 100, 4096, 100000})
      for (ptrdiff_t sign : {-1, 1}) check_overlap(size, sign * distance);
  // Neighbours that just do not touch.
  check_overlap(5 * kMiB, static_cast<ptrdiff_t>(5 * kMiB));
  check_overlap(5 * kMiB, -static_cast<ptrdiff_t>(5 * kMiB));
}

void check_fill(size_t pattern_size, size_t size, size_t shift) {
  static std::vector<unsigned char> to(kMost + kSlack, 0xee);
  std::vector<unsigned char> pattern = random_bytes(pattern_size);
  fill_memory(to.data() + shift, pattern.data(), pattern_size, size);
  const unsigned char* at = to.data() + shift;
  // The pattern, and then each byte like the one that is a pattern before it: two calls, where one for each repetition took long.
  assert(std::memcmp(at, pattern.data(), std::min(pattern_size, size)) == 0);
  if (size > pattern_size) assert(std::memcmp(at + pattern_size, at, size - pattern_size) == 0);
  for (size_t i = 0; i < shift; ++i) assert(to[i] == 0xee);
  for (size_t i = 0; i < 512; ++i) assert(to[shift + size + i] == 0xee);
  std::memset(to.data() + shift, 0xee, size);
}

void test_fill() {
  for (size_t pattern = 1; pattern <= 140; ++pattern)
    for (size_t size : {size_t{0}, size_t{1}, pattern - 1, pattern, pattern + 1, 7 * pattern, size_t{1000}})
      check_fill(pattern, size, pattern % 64);
  const size_t patterns[] = {1,   2,   3,   4,    7,    8,    12,   16,   31,    32,    64,
                             100, 127, 128, 1000, 4096, 8191, 8192, 8193, 16384, 20000, 300000};
  for (size_t pattern : patterns)
    for (size_t size : {100 * kKiB, 256 * kKiB, 256 * kKiB + 1, kMiB + 5, 4 * kMiB - 1, 4 * kMiB, 5 * kMiB + 77})
      check_fill(pattern, size, generator() % 130);
}

void check_box(size_t row, size_t rows, size_t slices, size_t to_gap, size_t from_gap, size_t to_slice_gap, size_t from_slice_gap) {
  size_t to_pitch = row + to_gap, from_pitch = row + from_gap;
  size_t to_slice = to_pitch * rows + to_slice_gap, from_slice = from_pitch * rows + from_slice_gap;
  std::vector<unsigned char> from = random_bytes(from_slice * slices + kSlack);
  std::vector<unsigned char> mine(to_slice * slices + kSlack, 0xee), plain = mine;
  Box to_box{mine.data() + 3, to_pitch, to_slice}, from_box{from.data() + 1, from_pitch, from_slice};
  copy_rows(to_box, from_box, row, rows, slices);
  for (size_t z = 0; z < slices; ++z)
    for (size_t y = 0; y < rows; ++y)
      std::memcpy(plain.data() + 3 + z * to_slice + y * to_pitch, from.data() + 1 + z * from_slice + y * from_pitch, row);
  assert(mine == plain);
}

// Past the caches or not, the bytes are the same.
void test_caching() {
  assert(!written_past_caches(kMiB, Caching::Usual) && written_past_caches(8 * kMiB, Caching::Usual));
  assert(!written_past_caches(8 * kMiB, Caching::Keep));
  assert(written_past_caches(4 * kKiB, Caching::Bypass) && !written_past_caches(64, Caching::Bypass));
  const std::vector<unsigned char> from = random_bytes(6 * kMiB + kSlack);
  for (Caching caching : {Caching::Usual, Caching::Keep, Caching::Bypass}) {
    for (size_t size : {size_t{64}, 4 * kKiB + 1, 100 * kKiB + 7, 6 * kMiB + 3}) {
      std::vector<unsigned char> to(size + kSlack, 0xee), plain = to;
      copy_memory(to.data() + 5, from.data() + 3, size, caching);
      std::memcpy(plain.data() + 5, from.data() + 3, size);
      assert(to == plain);
      fill_memory(to.data() + 9, "abc", 3, size, caching);
      for (size_t i = 0; i < size; ++i) plain[9 + i] = static_cast<unsigned char>("abc"[i % 3]);
      assert(to == plain);
    }
  }
}

void test_boxes() {
  for (int i = 0; i < 300; ++i) {
    size_t gaps[4];
    for (size_t& gap : gaps) gap = generator() % 3 == 0 ? generator() % 100 : 0;
    check_box(1 + generator() % 500, 1 + generator() % 20, 1 + generator() % 5, gaps[0], gaps[1], gaps[2], gaps[3]);
  }
  check_box(0, 5, 5, 1, 1, 0, 0);
  check_box(5, 0, 5, 1, 1, 0, 0);
  check_box(4096, 1000, 2, 0, 0, 0, 0);        // one run
  check_box(4096, 500, 4, 0, 0, 64, 0);        // a run per slice
  check_box(4000, 1000, 2, 96, 0, 0, 0);       // streaming rows
  check_box(4000, 50, 2, 96, 32, 7, 0);        // rows in the caches, several threads
  check_box(100, 30000, 2, 28, 0, 0, 0);       // short rows, many of them
  check_box(3 * kMiB / 2, 3, 2, 64, 0, 0, 5);  // long rows
  check_box(6 * kMiB, 1, 1, 64, 0, 0, 0);
}

}  // namespace

int main() {
  for (uint64_t threads : kThreads) {
    settings.threads = threads;
    test_copy();
    test_overlap();
    test_fill();
    test_boxes();
    test_caching();
  }
  std::puts("copy_test: ok");
  std::fflush(stdout);
  std::_Exit(0);  // workers sleep on statics
  return 0;
}
