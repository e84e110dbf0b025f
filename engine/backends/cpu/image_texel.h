// A pixel: where its channels lie, and which of the four values that a kernel sees each of them is.
#pragma once

#include <cstdint>

#include "../image_view.h"

namespace anyzero {

enum class TexelKind : uint32_t { Float, Signed, Unsigned };

// The encoding of a channel.
enum class Coding : uint8_t {
  Bits,  // for themselves: integers, and 32 bit floats
  SignedBits,
  Unorm,
  Snorm,
  Srgb,
  Float16,
  Float11,
  Float10,
  Number,  // an integer that the kernel asks for as a float
  SignedNumber,
};

struct Channel {
  uint8_t word;  // among the 32 bit words of a pixel; a second and third plane are words 1 and 2
  uint8_t shift;
  uint8_t bits;
  Coding coding;
  uint8_t odd_word;  // in pixels at odd columns: two of them share an element in 4:2:2 formats
  uint8_t odd_shift;
  float scale;  // what 1.0 is stored as, of normalised codings; a power of two less one
  float power;  // 1 / (scale + 1)
  float rest;   // 1 / scale
};

// The decoding of a format, for one kind of access.
struct Texel {
  // Sources of a value that is not stored. The last is 1 within the image and 0 in the border: an alpha that is ignored.
  static constexpr uint8_t kZero = 4, kOne = 5, kOneInside = 6;

  Texel() = default;
  Texel(const ImageView& view, TexelKind kind);
  // Kernels ask again and again for the same few, so they are kept.
  static const Texel& of(const ImageView& view, TexelKind kind, Texel* storage);

  uint8_t n_channels = 0;
  Coding coding = Coding::Number;  // of all channels, if they are coded alike
  bool in_order = false;           // four channels are the four values
  bool by_parity = false;          // some channel lies elsewhere in odd pixels
  uint8_t source[4];               // of each value: a channel, or one of the constants
  uint8_t target[4];               // of each channel: the value it is written from, or kZero
  Channel channels[4];
  uint32_t one;  // as a kernel of this kind sees it

  // The border's other values are 0.
  uint32_t border_alpha() const { return source[3] == kOne ? one : 0; }
};

// Linear values of the 256 codes, and the borders between what is written as one code and as the next.
struct SrgbTable {
  SrgbTable();
  uint32_t encode(float value) const;
  float linear[256];
  float above[255];
};
const SrgbTable& srgb_table();

// SPIR-V's ImageChannelDataType and ImageChannelOrder of an image; kNoEnumerant where SPIR-V has no name for it.
inline constexpr uint32_t kNoEnumerant = UINT32_MAX;
uint32_t channel_data_type(const ImageView& view);
uint32_t channel_order(const ImageView& view);

}  // namespace anyzero
