// Images as the tests see them: slow, and written from the definitions of formats, filters and conversions.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "objects/images/image.h"

namespace image_model {

using anyzero::ImagePlane;
using anyzero::ImageView;
using anyzero::SamplerState;

inline float as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t as_bits(float value) { return std::bit_cast<uint32_t>(value); }
// -------------------------------------------------------------------------------------------------------------------

// Bits [at, at + bits) of a pixel's element in some plane.
struct Field {
  uint32_t plane, at, bits;
};

struct Model {
  std::vector<Field> channels;  // of an even pixel
  std::vector<Field> odd;       // of an odd one, if different
  std::string values;           // media: the source of each of x, y, z and w, as Scene::source says it
};

// From the name of a layout of plain channels.
inline Model model_of(const char* name) {
  Model model;
  uint32_t at = 0;
  for (const char* c = name; *c; ++c) {
    auto bits = static_cast<uint32_t>(std::strtoul(c, const_cast<char**>(&c), 10));
    model.channels.push_back({0, at, bits});
    at += bits;
    if (!*c) break;
  }
  return model;
}

// Media layouts. Channels are named by their place in the list: Y, U, V, then alpha.
inline Model media_model_of(const std::string& name) {
  auto packed = [](const std::string& places, uint32_t bits) {  // of both lumas and of the chromas of two pixels
    auto place = [&](char c, size_t from = 0) { return static_cast<uint32_t>(places.find(c, from)) * bits; };
    uint32_t second = place('Y', places.find('Y') + 1);
    return Model{{{0, place('Y'), bits}, {0, place('U'), bits}, {0, place('V'), bits}},
                 {{0, second, bits}, {0, place('U'), bits}, {0, place('V'), bits}},
                 "201!"};
  };
  auto planes = [](uint32_t u, uint32_t v) { return Model{{{0, 0, 8}, {u, 0, 8}, {v, 0, 8}}, {}, "201!"}; };
  if (name == "Y8" || name == "400P" || name == "P8") return {{{0, 0, 8}}, {}, "0__!"};
  if (name == "Y16") return {{{0, 0, 16}}, {}, "0__!"};
  if (name == "NV12") return {{{0, 0, 8}, {1, 0, 8}, {1, 8, 8}}, {}, "201!"};
  if (name[0] == 'P' && name.size() == 4) return {{{0, 0, 16}, {1, 0, 16}, {1, 16, 16}}, {}, "201!"};
  if (name == "YUY2") return media_model_of("YUYV");
  if (name == "YUYV" || name == "YVYU" || name == "UYVY" || name == "VYUY") return packed(name, 8);
  if (name == "Y210" || name == "Y216") return packed("YUYV", 16);
  if (name == "AYUV") return {{{0, 16, 8}, {0, 8, 8}, {0, 0, 8}, {0, 24, 8}}, {}, "2013"};
  if (name == "Y410") return {{{0, 10, 10}, {0, 0, 10}, {0, 20, 10}, {0, 30, 2}}, {}, "2013"};
  if (name == "Y416") return {{{0, 16, 16}, {0, 0, 16}, {0, 32, 16}, {0, 48, 16}}, {}, "2013"};
  if (name == "YV12") return planes(2, 1);
  if (name == "RGBP") return {{{0, 0, 8}, {1, 0, 8}, {2, 0, 8}}, {}, "012!"};
  if (name == "BRGP") return {{{2, 0, 8}, {1, 0, 8}, {0, 0, 8}}, {}, "012!"};
  if (name == "A8P8") return {{{0, 0, 8}, {0, 8, 8}}, {}, "0__1"};
  if (name == "IA44") return {{{0, 4, 4}, {0, 0, 4}}, {}, "0__1"};
  if (name == "AI44") return {{{0, 0, 4}, {0, 4, 4}}, {}, "0__1"};
  return planes(1, 2);
}

inline double short_float_value(uint32_t code, uint32_t mantissa) {
  uint32_t exponent = code >> mantissa & 31, fraction = code & ((1u << mantissa) - 1);
  if (exponent == 31) return fraction ? NAN : INFINITY;
  return exponent ? std::ldexp(fraction + (1u << mantissa), static_cast<int>(exponent) - 15 - static_cast<int>(mantissa))
                  : std::ldexp(fraction, -14 - static_cast<int>(mantissa));
}

// Nearest of all finite codes, or infinity from half a step above the greatest. Codes are in the order of their values.
inline uint32_t short_float_code(double value, uint32_t mantissa) {
  if (std::isnan(value)) return (31u << mantissa) | 1u << (mantissa - 1);
  uint32_t low = 0, high = 31u << mantissa;  // infinity stands for what would be the next number
  auto number = [&](uint32_t code) { return code == 31u << mantissa ? 65536.0 : short_float_value(code, mantissa); };
  if (value >= 65536) return high;
  while (high - low > 1) (number((low + high) / 2) <= value ? low : high) = (low + high) / 2;
  double down = value - number(low), up = number(high) - value;
  return down < up || (down == up && low % 2 == 0) ? low : high;
}

inline double from_srgb(double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); }
inline double to_srgb(double v) {
  if (!(v > 0)) return 0;
  return v >= 1 ? 1 : v < 0.0031308 ? 12.92 * v : 1.055 * std::pow(v, 1 / 2.4) - 0.055;
}

// An image and what a kernel takes its values for.
struct Scene {
  ImageView view{};
  Model model;
  size_t bytes = 0;
  uint32_t kind = 0;

  ze_image_format_type_t type() const { return view.format->media() ? ZE_IMAGE_FORMAT_TYPE_UNORM : view.desc.type; }
  bool is_float() const { return kind == 0; }
  uint32_t axes() const { return view.type == ZE_IMAGE_TYPE_3D ? 3 : view.height > 1 || is_plane() ? 2 : 1; }
  bool is_plane() const { return view.type == ZE_IMAGE_TYPE_2D || view.type == ZE_IMAGE_TYPE_2DARRAY; }
  bool layered() const { return view.type == ZE_IMAGE_TYPE_1DARRAY || view.type == ZE_IMAGE_TYPE_2DARRAY; }
  int32_t size(uint32_t axis) const { return static_cast<int32_t>(axis == 0 ? view.width : axis == 1 ? view.height : view.slices); }

  // '0' to '3' for a channel; '_' zero, '!' one, 'x' one that is zero in the border.
  char source(uint32_t value) const {
    if (view.format->media()) return model.values[value];
    const ze_image_format_swizzle_t names[4] = {view.desc.x, view.desc.y, view.desc.z, view.desc.w};
    std::string named;
    for (char letter : {0, 1, 2, 3})
      if (std::find(names, names + 4, static_cast<ze_image_format_swizzle_t>(letter)) != names + 4) named.push_back(letter);
    auto name = static_cast<uint32_t>(names[value]);
    if (name == ZE_IMAGE_FORMAT_SWIZZLE_D) return '0';
    if (name == ZE_IMAGE_FORMAT_SWIZZLE_0) return '_';
    if (name == ZE_IMAGE_FORMAT_SWIZZLE_1) return '!';
    if (name == ZE_IMAGE_FORMAT_SWIZZLE_X) return value == 3 ? 'x' : '_';
    if (named.size() == model.channels.size()) return static_cast<char>('0' + named.find(static_cast<char>(name)));
    if (name < model.channels.size()) return static_cast<char>('0' + name);
    return name == ZE_IMAGE_FORMAT_SWIZZLE_A ? '!' : '_';
  }

  unsigned char* element(uint32_t plane, int32_t x, int32_t y, int32_t z) const {
    const ImagePlane& cut = view.format->planes[plane];
    return view.planes[plane].base + static_cast<size_t>(z) * view.slice_pitch +
           static_cast<size_t>(y / cut.down) * view.planes[plane].row_pitch + static_cast<size_t>(x / cut.across) * cut.bytes;
  }

  const Field& field(uint32_t channel, int32_t x) const {
    return x % 2 && !model.odd.empty() ? model.odd[channel] : model.channels[channel];
  }

  uint32_t code(uint32_t channel, int32_t x, int32_t y, int32_t z) const {
    const Field& f = field(channel, x);
    unsigned __int128 bits = 0;
    std::memcpy(&bits, element(f.plane, x, y, z), view.format->planes[f.plane].bytes);
    return static_cast<uint32_t>(bits >> f.at) & static_cast<uint32_t>((uint64_t{1} << f.bits) - 1);
  }

  void set_code(uint32_t channel, int32_t x, int32_t y, int32_t z, uint32_t code) const {
    const Field& f = field(channel, x);
    unsigned __int128 bits = 0, mask = ((static_cast<unsigned __int128>(1) << f.bits) - 1) << f.at;
    std::memcpy(&bits, element(f.plane, x, y, z), view.format->planes[f.plane].bytes);
    bits = (bits & ~mask) | static_cast<unsigned __int128>(code) << f.at;
    std::memcpy(element(f.plane, x, y, z), &bits, view.format->planes[f.plane].bytes);
  }

  bool encodes_srgb(uint32_t channel) const {
    if (!view.srgb || !is_float()) return false;
    for (uint32_t value = 0; value < 3; ++value)
      if (source(value) == static_cast<char>('0' + channel)) return true;
    return false;
  }

  // As the kernel gets it: bits of a float or of an integer.
  uint32_t decoded(uint32_t channel, uint32_t code) const {
    uint32_t bits = model.channels[channel].bits;
    auto extended = static_cast<int32_t>(code << (32 - bits)) >> (32 - bits);
    double most = std::ldexp(1, static_cast<int>(bits)) - 1, half = std::ldexp(1, static_cast<int>(bits) - 1) - 1;
    bool is_signed = type() == ZE_IMAGE_FORMAT_TYPE_SINT || type() == ZE_IMAGE_FORMAT_TYPE_SNORM;
    if (!is_float()) return is_signed ? static_cast<uint32_t>(extended) : code;
    switch (type()) {
      case ZE_IMAGE_FORMAT_TYPE_UINT:
        return as_bits(static_cast<float>(code));
      case ZE_IMAGE_FORMAT_TYPE_SINT:
        return as_bits(static_cast<float>(extended));
      case ZE_IMAGE_FORMAT_TYPE_UNORM:
        return as_bits(static_cast<float>(encodes_srgb(channel) ? from_srgb(code / most) : code / most));
      case ZE_IMAGE_FORMAT_TYPE_SNORM:
        return as_bits(static_cast<float>(std::max(-1.0, extended / half)));
      default:
        if (bits == 32) return code;
        if (bits == 16) return as_bits(static_cast<float>(short_float_value(code & 0x7fff, 10))) | (code & 0x8000) << 16;
        return as_bits(static_cast<float>(short_float_value(code, bits - 5)));
    }
  }

  uint32_t encoded(uint32_t channel, uint32_t value) const {
    uint32_t bits = model.channels[channel].bits;
    auto mask = static_cast<uint32_t>((uint64_t{1} << bits) - 1);
    bool is_signed = type() == ZE_IMAGE_FORMAT_TYPE_SINT || type() == ZE_IMAGE_FORMAT_TYPE_SNORM;
    int64_t high = is_signed ? mask >> 1 : mask, low = is_signed ? -high - 1 : 0;
    if (!is_float()) {
      int64_t wanted = is_signed ? static_cast<int32_t>(value) : int64_t{value};
      return static_cast<uint32_t>(std::clamp(wanted, low, high)) & mask;
    }
    float number = as_float(value);
    if (type() == ZE_IMAGE_FORMAT_TYPE_FLOAT) {
      if (bits == 32) return value;
      if (bits == 16) return short_float_code(std::fabs(number), 10) | (value >> 16 & 0x8000);
      return short_float_code(number < 0 ? 0 : std::fabs(number), bits - 5);
    }
    if (std::isnan(number)) return 0;
    bool normalised = type() == ZE_IMAGE_FORMAT_TYPE_UNORM || type() == ZE_IMAGE_FORMAT_TYPE_SNORM;
    double scaled = number;
    // In single precision, where that can hold the result.
    if (normalised) scaled = bits < 32 ? number * static_cast<float>(high) : number * static_cast<double>(high);
    if (encodes_srgb(channel)) scaled = to_srgb(number) * 255;
    return static_cast<uint32_t>(
               static_cast<int64_t>(std::nearbyint(std::clamp(scaled, static_cast<double>(low), static_cast<double>(high))))) &
           mask;
  }

  bool inside(const int32_t* at) const {
    for (uint32_t axis = 0; axis < 3; ++axis)
      if (at[axis] < 0 || at[axis] >= size(axis)) return false;
    return true;
  }

  uint32_t value(uint32_t v, const int32_t* at) const {
    char from = source(v);
    uint32_t one = is_float() ? as_bits(1) : 1;
    if (!inside(at)) return v == 3 && from == '!' ? one : 0;
    if (from == '_') return 0;
    if (from == '!' || from == 'x') return one;
    auto channel = static_cast<uint32_t>(from - '0');
    return decoded(channel, code(channel, at[0], at[1], at[2]));
  }
};

// The specification's formulas for one side. Two places and the weight of the second; of nearest filters only the first counts.
struct Sampled {
  int32_t first, second;
  float weight;
};

inline Sampled sample(const SamplerState& sampler, float coordinate, int32_t size) {
  bool linear = sampler.filter_mode == ZE_SAMPLER_FILTER_MODE_LINEAR;
  auto length = static_cast<float>(size);
  float s = sampler.normalized ? coordinate : coordinate * (1 / length), u;
  switch (sampler.address_mode) {
    case ZE_SAMPLER_ADDRESS_MODE_REPEAT:
      u = (s - std::floor(s)) * length;
      break;
    case ZE_SAMPLER_ADDRESS_MODE_MIRROR:
      u = std::fabs(s - 2.0f * std::rint(0.5f * s)) * length;
      break;
    default:
      u = sampler.normalized ? coordinate * length : coordinate;
  }
  float shifted = linear ? u - 0.5f : u;
  auto i0 = static_cast<int32_t>(std::clamp(std::floor(shifted), -1e9f, 1e9f));
  int32_t i1 = i0 + 1;
  switch (sampler.address_mode) {
    case ZE_SAMPLER_ADDRESS_MODE_REPEAT:
      if (i0 < 0) i0 += size;
      if (i0 > size - 1) i0 -= size;
      if (i1 > size - 1) i1 -= size;
      break;
    case ZE_SAMPLER_ADDRESS_MODE_MIRROR:
    case ZE_SAMPLER_ADDRESS_MODE_CLAMP:
      i0 = std::clamp(i0, 0, size - 1);
      i1 = std::clamp(i1, 0, size - 1);
      break;
    default:
      break;
  }
  return {i0, i1, shifted - std::floor(shifted)};
}

}  // namespace image_model
