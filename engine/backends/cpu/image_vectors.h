// Vectors of lanes, and operations that need instructions of a specific processor.
//
// Compiled once for each instruction set, by files that set the target and the vector size and then include image_blocks.h. So
// everything in these headers has internal linkage and uses no inline functions of other headers: the linker might pick the copy
// compiled for this target.
#include <immintrin.h>

#include <cstdint>
#include <cstring>
#include <utility>

// Vectors are parameters only of inlined functions, so no calling convention is affected.
#pragma GCC diagnostic ignored "-Wpsabi"
#define ANYZERO_LANE_CODE inline __attribute__((always_inline))

namespace anyzero {
namespace {

// Number of lanes per block: as many as a vector of the processor holds.
constexpr uint32_t kBlock = ANYZERO_VECTOR_BYTES / 4;
typedef float Floats __attribute__((vector_size(4 * kBlock)));
typedef int32_t Ints __attribute__((vector_size(4 * kBlock)));
typedef uint32_t Words __attribute__((vector_size(4 * kBlock)));

ANYZERO_LANE_CODE Words as_words(const Floats& value) { return reinterpret_cast<Words>(value); }
ANYZERO_LANE_CODE Words as_words(const Ints& value) { return reinterpret_cast<Words>(value); }
ANYZERO_LANE_CODE Floats as_floats(const Words& value) { return reinterpret_cast<Floats>(value); }
ANYZERO_LANE_CODE Ints as_ints(const Words& value) { return reinterpret_cast<Ints>(value); }
ANYZERO_LANE_CODE Floats to_floats(const Ints& value) { return __builtin_convertvector(value, Floats); }
ANYZERO_LANE_CODE Floats all(float value) { return Floats{} + value; }
ANYZERO_LANE_CODE Ints all(int32_t value) { return Ints{} + value; }
ANYZERO_LANE_CODE Words all(uint32_t value) { return Words{} + value; }

template <class Vector>
ANYZERO_LANE_CODE Vector least(const Vector& a, const Vector& b) {
  return a < b ? a : b;
}
template <class Vector>
ANYZERO_LANE_CODE Vector greatest(const Vector& a, const Vector& b) {
  return a > b ? a : b;
}

// The compiler does not find a single instruction for the comparisons above. If a is NaN, the result is b.
ANYZERO_LANE_CODE Floats least(const Floats& a, const Floats& b);
ANYZERO_LANE_CODE Floats greatest(const Floats& a, const Floats& b);

// Rounds down magnitudes up to 2^30.
ANYZERO_LANE_CODE Floats rounded_down(const Floats& value);

// Bit mask of the lanes whose mask is set.
ANYZERO_LANE_CODE uint64_t lanes_with(const Words& mask);

ANYZERO_LANE_CODE Floats half_to_float(const Words& half);
ANYZERO_LANE_CODE Words float_to_half(const Words& value);

// Even and odd words of pairs. pair(i, j) returns the pairs of lanes i and j.
template <class Pair>
ANYZERO_LANE_CODE void split_pairs(Pair pair, Words* first, Words* second);

#if ANYZERO_VECTOR_BYTES == 32

Floats least(const Floats& a, const Floats& b) { return _mm256_min_ps(a, b); }
Floats greatest(const Floats& a, const Floats& b) { return _mm256_max_ps(a, b); }
Floats rounded_down(const Floats& value) { return _mm256_floor_ps(value); }
uint64_t lanes_with(const Words& mask) { return static_cast<uint32_t>(_mm256_movemask_ps(__m256(mask))); }
Floats half_to_float(const Words& half) {
  __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(__m256i(half), __m256i(half)), 0x08);
  return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
}
Words float_to_half(const Words& value) {
  return Words(_mm256_cvtepu16_epi32(_mm256_cvtps_ph(__m256(value), _MM_FROUND_TO_NEAREST_INT)));
}

template <class Pair>
void split_pairs(Pair pair, Words* first, Words* second) {
  __m256 a = _mm256_set_m128(pair(4, 5), pair(0, 1)), b = _mm256_set_m128(pair(6, 7), pair(2, 3));
  *first = Words(_mm256_shuffle_ps(a, b, 0x88));
  *second = Words(_mm256_shuffle_ps(a, b, 0xdd));
}

#else

Floats least(const Floats& a, const Floats& b) { return _mm_min_ps(a, b); }
Floats greatest(const Floats& a, const Floats& b) { return _mm_max_ps(a, b); }
Floats rounded_down(const Floats& value) {
  Ints whole = __builtin_convertvector(value, Ints);
  return to_floats(whole + (value < to_floats(whole)));
}
uint64_t lanes_with(const Words& mask) { return static_cast<uint32_t>(_mm_movemask_ps(__m128(mask))); }

template <class Pair>
void split_pairs(Pair pair, Words* first, Words* second) {
  __m128 a = pair(0, 1), b = pair(2, 3);
  *first = Words(_mm_shuffle_ps(a, b, 0x88));
  *second = Words(_mm_shuffle_ps(a, b, 0xdd));
}

#endif

}  // namespace
}  // namespace anyzero
