#include "checksum.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <array>
#include <cstring>

namespace anyzero {

namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // of CRC-32C, lowest power first

using Table = std::array<uint32_t, 256>;

// kTables[n][byte]: remainder of the byte after n more zero bytes.
constexpr std::array<Table, 8> kTables = [] {
  std::array<Table, 8> tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    tables[0][i] = i;
    for (int bit = 0; bit < 8; ++bit) tables[0][i] = tables[0][i] >> 1 ^ (tables[0][i] & 1 ? kPolynomial : 0);
  }
  for (size_t n = 1; n < 8; ++n)
    for (uint32_t i = 0; i < 256; ++i) tables[n][i] = tables[n - 1][i] >> 8 ^ tables[0][tables[n - 1][i] & 0xFF];
  return tables;
}();

uint64_t word(const unsigned char* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

uint32_t by_tables(uint32_t rest, const unsigned char* at, size_t size) {
  for (; size >= 8; at += 8, size -= 8) {
    const uint64_t value = word(at) ^ rest;
    rest = 0;
    for (int i = 0; i < 8; ++i) rest ^= kTables[7 - i][value >> 8 * i & 0xFF];
  }
  for (; size > 0; ++at, --size) rest = rest >> 8 ^ kTables[0][(rest ^ *at) & 0xFF];
  return rest;
}

#if defined(__x86_64__)

// The instruction has a throughput of 8 bytes per cycle and a latency of three cycles, so three streams run interleaved. Each
// stream starts with remainder 0. They are combined afterwards: a remainder is advanced over the following streams as if those were
// zeros.
constexpr size_t kStream = 16384;  // a power of two; shorter ones are slower from memory

// kOver[n][byte]: the remainder's n-th byte, advanced over one stream. Computed at compile time, so that a fork cannot see it half
// initialised.
constexpr std::array<Table, 4> kOver = [] {
  // The value of each bit, advanced by one bit and then by repeated doubling.
  std::array<uint32_t, 32> moved{};
  moved[0] = kPolynomial;
  for (uint32_t bit = 1; bit < 32; ++bit) moved[bit] = 1u << (bit - 1);
  for (size_t bits = 1; bits < 8 * kStream; bits *= 2) {
    std::array<uint32_t, 32> twice{};
    for (uint32_t bit = 0; bit < 32; ++bit)
      for (uint32_t each = 0; each < 32; ++each)
        if (moved[bit] >> each & 1) twice[bit] ^= moved[each];
    moved = twice;
  }
  std::array<Table, 4> tables{};
  for (uint32_t n = 0; n < 4; ++n)
    for (uint32_t i = 0; i < 256; ++i)
      for (uint32_t bit = 0; bit < 8; ++bit)
        if (i >> bit & 1) tables[n][i] ^= moved[8 * n + bit];
  return tables;
}();

uint32_t moved_over(uint32_t rest) {
  return kOver[0][rest & 0xFF] ^ kOver[1][rest >> 8 & 0xFF] ^ kOver[2][rest >> 16 & 0xFF] ^ kOver[3][rest >> 24];
}

__attribute__((target("sse4.2"))) uint32_t by_instruction(uint32_t rest, const unsigned char* at, size_t size) {
  for (; size >= 3 * kStream; at += 3 * kStream, size -= 3 * kStream) {
    uint64_t first = rest, second = 0, third = 0;
    for (size_t i = 0; i < kStream; i += 8) {
      first = _mm_crc32_u64(first, word(at + i));
      second = _mm_crc32_u64(second, word(at + kStream + i));
      third = _mm_crc32_u64(third, word(at + 2 * kStream + i));
    }
    rest = moved_over(static_cast<uint32_t>(first)) ^ static_cast<uint32_t>(second);
    rest = moved_over(rest) ^ static_cast<uint32_t>(third);
  }
  uint64_t last = rest;
  for (; size >= 8; at += 8, size -= 8) last = _mm_crc32_u64(last, word(at));
  rest = static_cast<uint32_t>(last);
  for (; size > 0; ++at, --size) rest = _mm_crc32_u8(rest, *at);
  return rest;
}

bool has_instruction() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2");
}

#endif

}  // namespace

uint32_t checksum_portable(std::span<const unsigned char> bytes, uint32_t before) {
  return ~by_tables(~before, bytes.data(), bytes.size());
}

uint32_t checksum(std::span<const unsigned char> bytes, uint32_t before) {
#if defined(__x86_64__)
  if (has_instruction()) return ~by_instruction(~before, bytes.data(), bytes.size());
#endif
  return checksum_portable(bytes, before);
}

}  // namespace anyzero
