// Pixel formats: the position of each channel, and its mapping to the four values that a kernel sees.
#pragma once

#include <cstdint>

#include "../image_view.h"

namespace anyzero {

enum class TexelKind : uint32_t { Float, Signed, Unsigned };

// The encoding of a channel.
enum class Coding : uint8_t {
  Bits,  // unconverted: integers, and 32 bit floats
  SignedBits,
  Unorm,
  Snorm,
  Srgb,
  Float16,
  Float11,
  Float10,
  Number,  // an integer that the kernel reads as a float
  SignedNumber,
};

struct Channel {
  uint8_t word;  // index of the pixel's 32 bit word; a second and third plane are words 1 and 2
  uint8_t shift;
  uint8_t bits;
  Coding coding;
  uint8_t odd_word;  // in odd columns: two pixels share an element in 4:2:2 formats
  uint8_t odd_shift;
  float scale;  // the code of 1.0 in normalised codings; a power of two minus one
  float power;  // 1 / (scale + 1)
  float rest;   // 1 / scale
};

// The decoding of a format, for one kind of access.
struct Texel {
  // Sources of a value that is not stored. The last is 1 inside the image and 0 in the border: an ignored alpha.
  static constexpr uint8_t kZero = 4, kOne = 5, kOneInside = 6;

  Texel() = default;
  Texel(const ImageView& view, TexelKind kind);
  // Cached, because kernels request the same few.
  static const Texel& of(const ImageView& view, TexelKind kind, Texel* storage);

  uint8_t n_channels = 0;
  Coding coding = Coding::Number;  // of all channels, if they have the same
  bool in_order = false;           // the four channels are the four values in order
  bool by_parity = false;          // some channel has another position in odd pixels
  uint8_t source[4];               // of each value: a channel, or one of the constants
  uint8_t target[4];               // of each channel: the value it is written from, or kZero
  Channel channels[4];
  uint32_t one;  // as a kernel of this kind sees it

  // The border's other values are 0.
  uint32_t border_alpha() const { return source[3] == kOne ? one : 0; }
};

// Linear values of the 256 codes, and the thresholds between adjacent codes for writes.
struct SrgbTable {
  SrgbTable();
  uint32_t encode(float value) const;
  float linear[256];
  float above[255];
};
const SrgbTable& srgb_table();

// SPIR-V's ImageChannelDataType and ImageChannelOrder of an image; kNoEnumerant if SPIR-V has none.
inline constexpr uint32_t kNoEnumerant = UINT32_MAX;
uint32_t channel_data_type(const ImageView& view);
uint32_t channel_order(const ImageView& view);

}  // namespace anyzero
