#include "copy.h"

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "../../exec/pool.h"

namespace anyzero {

namespace {

constexpr size_t kLine = 64;
constexpr size_t kStep = 4 * kLine;
constexpr size_t kAlone = size_t{256} << 10;    // up to this size another thread costs more than it gains
constexpr size_t kStreaming = size_t{4} << 20;  // from this size the data would evict everything else from the caches
constexpr size_t kLeastStreaming = 2 * kStep;   // shorter runs are mostly head and tail
constexpr size_t kCachedChunk = size_t{128} << 10;
constexpr size_t kStreamChunk = size_t{1} << 20;
constexpr size_t kAhead = size_t{1} << 10;  // prefetch distance
constexpr size_t kTile = size_t{16} << 10;  // half of a first-level cache

// The kernels copy `steps` × kStep bytes to a line-aligned address, past the caches.
#define ANYZERO_ASK(at)                                                                \
  do {                                                                                 \
    _mm_prefetch(reinterpret_cast<const char*>(at) + kAhead, _MM_HINT_T0);             \
    _mm_prefetch(reinterpret_cast<const char*>(at) + kAhead + kLine, _MM_HINT_T0);     \
    _mm_prefetch(reinterpret_cast<const char*>(at) + kAhead + 2 * kLine, _MM_HINT_T0); \
    _mm_prefetch(reinterpret_cast<const char*>(at) + kAhead + 3 * kLine, _MM_HINT_T0); \
  } while (0)

__attribute__((target("avx512f"))) void stream_avx512(unsigned char* to, const unsigned char* from, size_t steps) {
  for (; steps; --steps, to += kStep, from += kStep) {
    ANYZERO_ASK(from);
    __m512i a = _mm512_loadu_si512(from), b = _mm512_loadu_si512(from + 64);
    __m512i c = _mm512_loadu_si512(from + 128), d = _mm512_loadu_si512(from + 192);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), a);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + 64), b);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + 128), c);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + 192), d);
  }
}

__attribute__((target("avx2"))) void stream_avx2(unsigned char* to, const unsigned char* from, size_t steps) {
  for (; steps; --steps, to += kStep, from += kStep) {
    ANYZERO_ASK(from);
    for (size_t i = 0; i < kStep; i += 128) {
      __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
      __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + 32));
      __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + 64));
      __m256i d = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + 96));
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i), a);
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i + 32), b);
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i + 64), c);
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i + 96), d);
    }
  }
}

void stream_sse2(unsigned char* to, const unsigned char* from, size_t steps) {
  for (; steps; --steps, to += kStep, from += kStep) {
    ANYZERO_ASK(from);
    for (size_t i = 0; i < kStep; i += 64) {
      __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
      __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + 16));
      __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + 32));
      __m128i d = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + 48));
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), a);
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + 16), b);
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + 32), c);
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + 48), d);
    }
  }
}

#undef ANYZERO_ASK

using StreamKernel = void (*)(unsigned char*, const unsigned char*, size_t);

StreamKernel pick_kernel() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return stream_avx512;
  if (__builtin_cpu_supports("avx2")) return stream_avx2;
  return stream_sse2;
}

const StreamKernel stream_kernel = pick_kernel();

// Streaming stores need a fence before another thread may read the result.
void stream(unsigned char* to, const unsigned char* from, size_t size) {
  size_t head = std::min(size, -reinterpret_cast<uintptr_t>(to) % kLine);
  std::memcpy(to, from, head);
  size_t steps = (size - head) / kStep;
  stream_kernel(to + head, from + head, steps);
  size_t done = head + steps * kStep;
  std::memcpy(to + done, from + done, size - done);
}

bool overlap(const void* a, const void* b, size_t size) {
  uintptr_t distance = reinterpret_cast<uintptr_t>(a) - reinterpret_cast<uintptr_t>(b);
  return distance < size || -distance < size;
}

// A run of bytes divided into chunks at cache line boundaries of the destination.
struct Cut {
  size_t size;
  size_t chunk;
  size_t lead;  // bytes up to the first line

  Cut(const void* to, size_t size, bool streaming)
      : size(size), chunk(streaming ? kStreamChunk : kCachedChunk), lead(-reinterpret_cast<uintptr_t>(to) % kLine) {}
  uint32_t chunks() const { return static_cast<uint32_t>((size - lead + chunk - 1) / chunk); }
  size_t begin(uint32_t i) const { return i == 0 ? 0 : lead + i * chunk; }
  size_t end(uint32_t i) const { return std::min(size, lead + (size_t{i} + 1) * chunk); }
};

struct CopyJob {
  unsigned char* to;
  const unsigned char* from;
  Cut cut;
  bool streaming;
};

void run_copy(void* context, uint32_t i) {
  const auto& job = *static_cast<const CopyJob*>(context);
  size_t begin = job.cut.begin(i), size = job.cut.end(i) - begin;
  if (job.streaming) {
    stream(job.to + begin, job.from + begin, size);
    _mm_sfence();
  } else {
    std::memcpy(job.to + begin, job.from + begin, size);
  }
}

// The block that a fill repeats: at least one whole pattern, and enough of them for long copies.
struct FillJob {
  unsigned char* to;
  const unsigned char* tile;
  size_t tile_size;
  Cut cut;
  bool streaming;
};

void run_fill(void* context, uint32_t i) {
  const auto& job = *static_cast<const FillJob*>(context);
  size_t at = job.cut.begin(i), end = job.cut.end(i), phase = at % job.tile_size;
  while (at < end) {
    size_t size = std::min(end - at, job.tile_size - phase);
    if (job.streaming) {
      stream(job.to + at, job.tile + phase, size);
    } else {
      std::memcpy(job.to + at, job.tile + phase, size);
    }
    at += size;
    phase = 0;
  }
  if (job.streaming) _mm_sfence();
}

// Doubles the written part by copies from the destination itself, in pieces that fit the first-level cache.
void fill_by_doubling(unsigned char* to, const void* pattern, size_t pattern_size, size_t size) {
  size_t done = std::min(pattern_size, size);
  std::memcpy(to, pattern, done);
  size_t unit = done;
  while (done < size) {
    size_t n = std::min(unit, size - done);
    std::memcpy(to + done, to, n);
    done += n;
    if (unit < kTile) unit = done;
  }
}

struct RowsJob {
  Box to, from;
  size_t row, rows, lines, lines_per_chunk;
  bool streaming;
};

void copy_row(const RowsJob& job, size_t line) {
  size_t slice = line / job.rows, row = line % job.rows;
  unsigned char* to = job.to.base + slice * job.to.slice_pitch + row * job.to.row_pitch;
  const unsigned char* from = job.from.base + slice * job.from.slice_pitch + row * job.from.row_pitch;
  if (job.streaming && !overlap(to, from, job.row)) {
    stream(to, from, job.row);
  } else {
    std::memmove(to, from, job.row);
  }
}

void run_rows(void* context, uint32_t i) {
  const auto& job = *static_cast<const RowsJob*>(context);
  size_t first = i * job.lines_per_chunk, last = std::min(job.lines, first + job.lines_per_chunk);
  for (size_t line = first; line < last; ++line) copy_row(job, line);
  if (job.streaming) _mm_sfence();
}

}  // namespace

bool written_past_caches(size_t size, Caching caching) {
  return caching == Caching::Usual ? size >= kStreaming : caching == Caching::Bypass && size >= kLeastStreaming;
}

void copy_memory(void* to, const void* from, size_t size, Caching caching) {
  const bool streaming = written_past_caches(size, caching);
  if ((size <= kAlone && !streaming) || overlap(to, from, size)) {
    std::memmove(to, from, size);
    return;
  }
  CopyJob job{static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from), Cut(to, size, streaming), streaming};
  parallel(job.cut.chunks(), run_copy, &job);
}

void fill_memory(void* to, const void* pattern, size_t pattern_size, size_t size, Caching caching) {
  if (size == 0 || pattern_size == 0) return;
  auto* bytes = static_cast<unsigned char*>(to);
  const bool streaming = written_past_caches(size, caching);
  if (size <= kAlone && !streaming) {
    if (pattern_size == 1) {
      std::memset(bytes, *static_cast<const unsigned char*>(pattern), size);
    } else {
      fill_by_doubling(bytes, pattern, pattern_size, size);
    }
    return;
  }
  alignas(kLine) unsigned char buffer[kTile];
  const auto* tile = static_cast<const unsigned char*>(pattern);
  size_t tile_size = pattern_size;
  if (pattern_size <= kTile / 2) {
    // Whole steps, so that no boundary between two repetitions falls inside a cache line. This is rarely possible for odd patterns,
    // whose boundaries cost little.
    tile_size = kTile / pattern_size * pattern_size;
    fill_by_doubling(buffer, pattern, pattern_size, tile_size);
    tile = buffer;
  }
  FillJob job{bytes, tile, tile_size, Cut(to, size, streaming), streaming};
  parallel(job.cut.chunks(), run_fill, &job);
}

void copy_rows(const Box& to, const Box& from, size_t row, size_t rows, size_t slices) {
  if (row == 0 || rows == 0 || slices == 0) return;
  Box d = to, s = from;
  bool joined = rows == 1 || (d.row_pitch == row && s.row_pitch == row);
  if (joined) {
    row *= rows;
    rows = 1;
    // A slice is now contiguous; slices become the rows.
    if (slices == 1 || (d.slice_pitch == row && s.slice_pitch == row)) return copy_memory(d.base, s.base, row * slices);
    rows = slices;
    slices = 1;
    d.row_pitch = d.slice_pitch;
    s.row_pitch = s.slice_pitch;
  }
  RowsJob job{d, s, row, rows, rows * slices, 1, false};
  size_t total = row * job.lines;
  if (row >= kStreamChunk) {
    for (size_t line = 0; line < job.lines; ++line) {
      size_t slice = line / rows, at = line % rows;
      copy_memory(d.base + slice * d.slice_pitch + at * d.row_pitch, s.base + slice * s.slice_pitch + at * s.row_pitch, row);
    }
    return;
  }
  if (total <= kAlone) {
    for (size_t line = 0; line < job.lines; ++line) copy_row(job, line);
    return;
  }
  job.streaming = total >= kStreaming && row >= 2 * kStep;  // shorter rows are mostly head and tail
  size_t chunk = job.streaming ? kStreamChunk : kCachedChunk;
  job.lines_per_chunk = std::max<size_t>(1, chunk / row);
  parallel(static_cast<uint32_t>((job.lines + job.lines_per_chunk - 1) / job.lines_per_chunk), run_rows, &job);
}

}  // namespace anyzero
