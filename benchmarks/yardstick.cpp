#include "yardstick.h"

#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>

namespace bench {

namespace {

constexpr size_t kStep = 256;
constexpr size_t kChunk = size_t{1} << 20;  // handed out one by one: a thread that loses its processor holds up little

// Copy `size` bytes, a multiple of kStep, to a line-aligned address; or fill it when there is no source.
__attribute__((target("avx512f"))) void stream_avx512(unsigned char* to, const unsigned char* from, unsigned char value,
                                                      size_t size) {
  __m512i v = _mm512_set1_epi8(static_cast<char>(value));
  for (size_t i = 0; i < size; i += kStep) {
    __m512i part[4] = {v, v, v, v};
    for (int j = 0; from && j < 4; ++j) part[j] = _mm512_loadu_si512(from + i + 64 * j);
    for (int j = 0; j < 4; ++j) _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + 64 * j), part[j]);
  }
  _mm_sfence();
}

__attribute__((target("avx2"))) void stream_avx2(unsigned char* to, const unsigned char* from, unsigned char value, size_t size) {
  __m256i v = _mm256_set1_epi8(static_cast<char>(value));
  for (size_t i = 0; i < size; i += kStep) {
    __m256i part[8] = {v, v, v, v, v, v, v, v};
    for (int j = 0; from && j < 8; ++j) part[j] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + 32 * j));
    for (int j = 0; j < 8; ++j) _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i + 32 * j), part[j]);
  }
  _mm_sfence();
}

void stream_sse2(unsigned char* to, const unsigned char* from, unsigned char value, size_t size) {
  __m128i v = _mm_set1_epi8(static_cast<char>(value));
  for (size_t i = 0; i < size; i += 64) {
    __m128i part[4] = {v, v, v, v};
    for (int j = 0; from && j < 4; ++j) part[j] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + 16 * j));
    for (int j = 0; j < 4; ++j) _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + 16 * j), part[j]);
  }
  _mm_sfence();
}

using Stream = void (*)(unsigned char*, const unsigned char*, unsigned char, size_t);

Stream pick() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return stream_avx512;
  if (__builtin_cpu_supports("avx2")) return stream_avx2;
  return stream_sse2;
}

struct Work {
  unsigned char* to = nullptr;
  const unsigned char* from = nullptr;  // none: fill with `value`
  unsigned char value = 0;
  size_t size = 0;
};

}  // namespace

struct TwoThreads::Shared {
  Stream stream = pick();
  Work work;
  std::atomic<size_t> next{0};
  // The second thread's life: asleep, ready, begun, done; over at the end.
  enum State { kAsleep, kWoken, kReady, kBegun, kDone, kOver };
  std::atomic<int> state{kAsleep};
  std::mutex mutex;
  std::condition_variable changed;
  std::thread second;

  void share_out() {
    for (size_t at; (at = next.fetch_add(kChunk, std::memory_order_relaxed)) < work.size;)
      stream(work.to + at, work.from ? work.from + at : nullptr, work.value, std::min(kChunk, work.size - at));
  }

  void second_thread() {
    for (;;) {
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return state == kWoken || state == kOver; });
      }
      if (state == kOver) return;
      state = kReady;
      while (state == kReady) __builtin_ia32_pause();
      share_out();
      state = kDone;
    }
  }

  void set(State to) {
    {
      std::lock_guard lock(mutex);
      state = to;
    }
    changed.notify_one();
  }

  void run(Work what) {
    work = what;
    next = 0;
    state = kBegun;
    share_out();
    while (state != kDone) __builtin_ia32_pause();
    state = kAsleep;
  }
};

TwoThreads::TwoThreads() : shared_(new Shared) {
  shared_->second = std::thread([shared = shared_] { shared->second_thread(); });
}

TwoThreads::~TwoThreads() {
  shared_->set(Shared::kOver);
  shared_->second.join();
  delete shared_;
}

void TwoThreads::arm() {
  shared_->set(Shared::kWoken);
  while (shared_->state != Shared::kReady) std::this_thread::yield();
}

void TwoThreads::copy(void* to, const void* from, size_t size) {
  shared_->run({static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from), 0, size});
}

void TwoThreads::fill(void* to, unsigned char value, size_t size) {
  shared_->run({static_cast<unsigned char*>(to), nullptr, value, size});
}

}  // namespace bench
