// Channels of a block of lanes: encoding and decoding of values, and loads of pixels.
//
// Compiled once for each instruction set; see image_vectors.h.
#include "image_texel.h"
#include "image_vectors.h"

namespace anyzero {
namespace {

// The raw words of a block's pixels.
struct Raw {
  Words word[4];
};

struct Place {
  Ints x, y, z;
};

// Applies a function lane by lane, for rare cases.
template <class Function>
ANYZERO_LANE_CODE Words each(const Words& from, Function function) {
  Words to;
  for (uint32_t i = 0; i < kBlock; ++i) to[i] = function(static_cast<uint32_t>(from[i]));
  return to;
}

// Converts to a float with five exponent bits and `mantissa` mantissa bits, to nearest even, without the sign.
ANYZERO_LANE_CODE Words to_short_float(const Words& value, uint32_t mantissa) {
  const uint32_t drop = 23 - mantissa, infinity = 31u << mantissa;
  Words magnitude = value & 0x7fffffff;
  Words normal = (magnitude - (112u << 23) + (1u << (drop - 1)) - 1 + (magnitude >> drop & 1)) >> drop;
  // An addition rounds values below the normal range: the last bit of the sum is the last bit of the result.
  const uint32_t unit = (136 - mantissa) << 23;
  Words tiny = as_words(as_floats(magnitude) + __builtin_bit_cast(float, unit)) - unit;
  Words finite = magnitude < (113u << 23) ? tiny : normal;
  Words nan = (magnitude & 0x7fffff) >> drop | (infinity | 1u << (mantissa - 1));
  Words endless = magnitude > (255u << 23) ? nan : all(infinity);
  return magnitude < (143u << 23) ? finite : endless;
}

#if ANYZERO_VECTOR_BYTES == 16
// No operand or result is denormal, so flushing them has no effect.
Floats half_to_float(const Words& half) {
  Words magnitude = half & 0x7fff;
  Words wide = (magnitude << 13) + (magnitude >= 0x7c00 ? all(224u << 23) : all(112u << 23));
  Words small = as_words(to_floats(as_ints(magnitude)) * 0x1p-24f);
  return as_floats((magnitude < 0x400 ? small : wide) | (half & 0x8000) << 16);
}
Words float_to_half(const Words& value) { return to_short_float(value, 10) | (value >> 16 & 0x8000); }
#endif

// There is no sign: negative values become zero.
ANYZERO_LANE_CODE Words to_unsigned_float(const Words& value, uint32_t mantissa) {
  auto negative = (value > 0x80000000u) & (value <= 0xff800000u);
  return negative ? all(0u) : to_short_float(value, mantissa);
}

// Rounds to the nearest integer, ties to even; only for magnitudes up to 2^22.
ANYZERO_LANE_CODE Words nearest(const Floats& value) {
  return as_words(value + 0x1.8p23f) - __builtin_bit_cast(uint32_t, 0x1.8p23f);
}

ANYZERO_LANE_CODE Floats clamped(const Floats& value, float low, float high) {
  return least(greatest(value == value ? value : Floats{}, all(low)), all(high));
}

// The slow path for values that single precision cannot hold.
ANYZERO_LANE_CODE uint32_t nearest_wide(uint32_t bits, double low, double high) {
  auto value = __builtin_bit_cast(float, bits);
  double number = value == value ? value : 0;
  number = number > low ? number : low;
  return static_cast<uint32_t>(static_cast<int64_t>(__builtin_rint(number < high ? number : high)));
}

ANYZERO_LANE_CODE uint32_t mask_of(uint32_t bits) { return bits == 32 ? UINT32_MAX : (1u << bits) - 1; }

ANYZERO_LANE_CODE Ints extend_sign(const Words& value, uint32_t bits) {
  return as_ints((value ^ (1u << (bits - 1))) - (1u << (bits - 1)));
}

// 1/255 is expanded as 1/256 plus 1/255 of that: exact to the last bit for every code, unlike a product with 1/255.
ANYZERO_LANE_CODE Floats normalised(const Ints& code, const Channel& channel) {
  Floats most = to_floats(code) * channel.power;
  return most + most * channel.rest;
}

// Decodes a code to the kernel's bits: a float or an integer.
ANYZERO_LANE_CODE Words decode(Coding coding, const Channel& channel, const Words& code) {
  const uint32_t bits = channel.bits;
  switch (coding) {
    case Coding::Bits:
      return code;
    case Coding::SignedBits:
      return as_words(extend_sign(code, bits));
    case Coding::Unorm:
      return as_words(normalised(as_ints(code), channel));
    case Coding::Snorm:
      return as_words(greatest(normalised(extend_sign(code, bits), channel), all(-1.0f)));
    case Coding::Srgb:
      return each(code, [](uint32_t c) { return __builtin_bit_cast(uint32_t, srgb_table().linear[c]); });
    case Coding::Float16:
      return as_words(half_to_float(code));
    case Coding::Float11:
      return as_words(half_to_float(code << 4));
    case Coding::Float10:
      return as_words(half_to_float(code << 5));
    case Coding::Number:
      return each(code, [](uint32_t c) { return __builtin_bit_cast(uint32_t, static_cast<float>(c)); });
    case Coding::SignedNumber:
      return as_words(to_floats(extend_sign(code, bits)));
  }
  return code;
}

ANYZERO_LANE_CODE Words code_of(const Texel& texel, uint32_t c, const Raw& raw, const Ints& x) {
  const Channel& channel = texel.channels[c];
  Words code = raw.word[channel.word] >> channel.shift & mask_of(channel.bits);
  if (texel.by_parity) {
    Words other = raw.word[channel.odd_word] >> channel.odd_shift & mask_of(channel.bits);
    code = (x & 1) != 0 ? other : code;
  }
  return code;
}

// Decodes the channels of a block's pixels. Most formats encode all channels alike, which is decided once then.
ANYZERO_LANE_CODE void decode(const Texel& texel, const Raw& raw, const Ints& x, Words* to) {
  auto alike = [&](Coding coding) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (uint32_t c = 0; c < 4; ++c) {
      if (c == texel.n_channels) break;
      to[c] = decode(coding, texel.channels[c], code_of(texel, c, raw, x));
    }
  };
  if (texel.coding == Coding::Bits) {
    alike(Coding::Bits);
  } else if (texel.coding == Coding::Unorm) {
    alike(Coding::Unorm);
  } else if (texel.coding == Coding::Float16) {
    alike(Coding::Float16);
  } else {
    for (uint32_t c = 0; c < texel.n_channels; ++c)
      to[c] = decode(texel.channels[c].coding, texel.channels[c], code_of(texel, c, raw, x));
  }
}

// Encodes a value to the bits that the channel stores.
ANYZERO_LANE_CODE Words encode(const Channel& channel, const Words& value) {
  const uint32_t mask = mask_of(channel.bits);
  const float scale = channel.scale;
  const auto high = static_cast<int32_t>(mask >> 1);
  switch (channel.coding) {
    case Coding::Bits:
      return least(value, all(mask));
    case Coding::SignedBits:
      return as_words(least(greatest(as_ints(value), all(-high - 1)), all(high))) & mask;
    case Coding::Unorm:
      return nearest(clamped(as_floats(value) * scale, 0, scale));
    case Coding::Snorm:
      return nearest(clamped(as_floats(value) * scale, -scale - 1, scale)) & mask;
    case Coding::Srgb:
      return each(value, [](uint32_t v) { return srgb_table().encode(__builtin_bit_cast(float, v)); });
    case Coding::Float16:
      return float_to_half(value);
    case Coding::Float11:
      return to_unsigned_float(value, 6);
    case Coding::Float10:
      return to_unsigned_float(value, 5);
    case Coding::Number:
      return each(value, [=](uint32_t v) { return nearest_wide(v, 0, mask); });
    case Coding::SignedNumber:
      return each(value, [=](uint32_t v) { return nearest_wide(v, -1.0 - high, high) & mask; });
  }
  return value;
}

// Whether 31-bit offsets reach every pixel of the image.
ANYZERO_LANE_CODE bool is_near(const ImageView& view) {
  return view.slice_pitch <= INT32_MAX && view.slice_pitch * view.slices <= INT32_MAX;
}

// Offsets of a block's pixels. Stored in memory, because extracting them from the vector one by one takes longer than loading them.
template <class Int>
struct alignas(64) Offsets {
  ANYZERO_LANE_CODE explicit Offsets(const Ints& offset) {
    std::memcpy(at, &offset, sizeof offset);
    asm("" : "+m"(at));
  }
  Offsets() = default;
  Int at[kBlock];
};

// Scalar loads: gather instructions take longer.
template <class Word, class Int>
ANYZERO_LANE_CODE Words load_words(const unsigned char* base, const Offsets<Int>& offset) {
  auto word = [&](uint32_t i) __attribute__((always_inline)) {
    Word value;
    std::memcpy(&value, base + offset.at[i], sizeof value);
    return uint32_t{value};
  };
  return [&]<size_t... I>(std::index_sequence<I...>)
             __attribute__((always_inline)) { return Words{word(I)...}; }(std::make_index_sequence<kBlock>());
}

// Two neighbouring words at each offset.
ANYZERO_LANE_CODE void load_pairs(const unsigned char* base, const Offsets<int32_t>& offset, Words* first, Words* second) {
  auto pair = [&](uint32_t i, uint32_t j) __attribute__((always_inline)) {
    __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(base + offset.at[i]));
    return _mm_loadh_pi(_mm_castsi128_ps(low), reinterpret_cast<const __m64*>(base + offset.at[j]));
  };
  split_pairs(pair, first, second);
}

// Reads no byte beyond the last pixel, where the mapping may end.
template <class Int>
ANYZERO_LANE_CODE void load_elements(const unsigned char* base, uint32_t bytes, const Offsets<Int>& offset, Words* word) {
  switch (bytes) {
    case 1:
      word[0] = load_words<uint8_t>(base, offset);
      break;
    case 2:
      word[0] = load_words<uint16_t>(base, offset);
      break;
    case 3:
      word[0] = load_words<uint16_t>(base, offset) | load_words<uint8_t>(base + 2, offset) << 16;
      break;
    case 6:
      word[1] = load_words<uint16_t>(base + 4, offset);
      word[0] = load_words<uint32_t>(base, offset);
      break;
    case 16:
      word[3] = load_words<uint32_t>(base + 12, offset);
      [[fallthrough]];
    case 12:
      word[2] = load_words<uint32_t>(base + 8, offset);
      [[fallthrough]];
    case 8:
      word[1] = load_words<uint32_t>(base + 4, offset);
      [[fallthrough]];
    case 4:
      word[0] = load_words<uint32_t>(base, offset);
      break;
  }
}

// Slow path for images of more than 2 GiB, which are rare.
__attribute__((noinline, cold)) void load_far(const ImageView& view, uint32_t plane, const Place& at, Raw* raw) {
  const ImagePlane& cut = view.format->planes[plane];
  const auto row = static_cast<int64_t>(view.planes[plane].row_pitch), slice = static_cast<int64_t>(view.slice_pitch);
  Offsets<int64_t> offset;
  for (uint32_t i = 0; i < kBlock; ++i)
    offset.at[i] = int64_t{at.x[i]} / cut.across * cut.bytes + int64_t{at.y[i]} / cut.down * row + int64_t{at.z[i]} * slice;
  load_elements(view.planes[plane].base, cut.bytes, offset, raw->word + plane);
}

ANYZERO_LANE_CODE Ints near_offsets(const ImageView& view, uint32_t plane, const Place& at) {
  const ImagePlane& cut = view.format->planes[plane];
  Ints x = cut.across == 2 ? at.x >> 1 : at.x, y = cut.down == 2 ? at.y >> 1 : at.y;
  return x * int32_t{cut.bytes} + y * static_cast<int32_t>(view.planes[plane].row_pitch) +
         at.z * static_cast<int32_t>(view.slice_pitch);
}

// Loads pixels at positions inside the image.
ANYZERO_LANE_CODE void load(const ImageView& view, const Place& at, bool near, Raw* raw) {
  uint32_t plane = 0;
  do {
    if (near) [[likely]] {
      const uint32_t bytes = view.format->planes[plane].bytes;
      load_elements(view.planes[plane].base, bytes, Offsets<int32_t>(near_offsets(view, plane, at)), raw->word + plane);
    } else {
      load_far(view, plane, at, raw);
    }
  } while (++plane < view.format->n_planes);
}

}  // namespace
}  // namespace anyzero
