#include "image_texel.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

namespace anyzero {
namespace {

constexpr uint8_t kAbsent = 0xff;

// Position of a media format's value: its first bit in the pixel's words. A second plane begins at bit 32, a third at 64.
struct Sample {
  uint8_t bit = kAbsent;
  uint8_t bits = 0;
  uint8_t odd_bit = kAbsent;  // in odd columns, if different
};

// Values of a media format for a kernel, by OpenCL's extensions: V, Y, U and alpha; other formats have their values in order.
struct MediaTexel {
  Sample value[4];
};

constexpr MediaTexel luma(uint8_t bits) { return {{{0, bits}, {}, {}, {}}}; }
constexpr MediaTexel yuv(Sample y, Sample u, Sample v, Sample alpha = {}) { return {{v, y, u, alpha}}; }
constexpr MediaTexel rgb_planes(uint8_t r, uint8_t g, uint8_t b) { return {{{r, 8}, {g, 8}, {b, 8}, {}}}; }
constexpr MediaTexel indexed(Sample index, Sample alpha) { return {{index, {}, {}, alpha}}; }

MediaTexel media_texel(ze_image_format_layout_t layout) {
  switch (layout) {
    case ZE_IMAGE_FORMAT_LAYOUT_Y16:
      return luma(16);
    case ZE_IMAGE_FORMAT_LAYOUT_NV12:
      return yuv({0, 8}, {32, 8}, {40, 8});
    case ZE_IMAGE_FORMAT_LAYOUT_P010:
    case ZE_IMAGE_FORMAT_LAYOUT_P012:
    case ZE_IMAGE_FORMAT_LAYOUT_P016:
    case ZE_IMAGE_FORMAT_LAYOUT_P216:
      return yuv({0, 16}, {32, 16}, {48, 16});
    case ZE_IMAGE_FORMAT_LAYOUT_YUYV:
    case ZE_IMAGE_FORMAT_LAYOUT_YUY2:
      return yuv({0, 8, 16}, {8, 8}, {24, 8});
    case ZE_IMAGE_FORMAT_LAYOUT_YVYU:
      return yuv({0, 8, 16}, {24, 8}, {8, 8});
    case ZE_IMAGE_FORMAT_LAYOUT_UYVY:
      return yuv({8, 8, 24}, {0, 8}, {16, 8});
    case ZE_IMAGE_FORMAT_LAYOUT_VYUY:
      return yuv({8, 8, 24}, {16, 8}, {0, 8});
    case ZE_IMAGE_FORMAT_LAYOUT_Y210:
    case ZE_IMAGE_FORMAT_LAYOUT_Y216:
      return yuv({0, 16, 32}, {16, 16}, {48, 16});
    case ZE_IMAGE_FORMAT_LAYOUT_AYUV:
      return yuv({16, 8}, {8, 8}, {0, 8}, {24, 8});
    case ZE_IMAGE_FORMAT_LAYOUT_Y410:
      return yuv({10, 10}, {0, 10}, {20, 10}, {30, 2});
    case ZE_IMAGE_FORMAT_LAYOUT_Y416:
      return yuv({16, 16}, {0, 16}, {32, 16}, {48, 16});
    case ZE_IMAGE_FORMAT_LAYOUT_I420:
    case ZE_IMAGE_FORMAT_LAYOUT_422H:
    case ZE_IMAGE_FORMAT_LAYOUT_422V:
    case ZE_IMAGE_FORMAT_LAYOUT_444P:
      return yuv({0, 8}, {32, 8}, {64, 8});
    case ZE_IMAGE_FORMAT_LAYOUT_YV12:
      return yuv({0, 8}, {64, 8}, {32, 8});
    case ZE_IMAGE_FORMAT_LAYOUT_RGBP:
      return rgb_planes(0, 32, 64);
    case ZE_IMAGE_FORMAT_LAYOUT_BRGP:
      return rgb_planes(64, 32, 0);
    case ZE_IMAGE_FORMAT_LAYOUT_A8P8:
      return indexed({0, 8}, {8, 8});
    case ZE_IMAGE_FORMAT_LAYOUT_IA44:
      return indexed({4, 4}, {0, 4});
    case ZE_IMAGE_FORMAT_LAYOUT_AI44:
      return indexed({0, 4}, {4, 4});
    default:
      return luma(8);
  }
}

Channel channel_at(uint32_t bit, uint32_t odd_bit, uint8_t bits) {
  return {static_cast<uint8_t>(bit / 32),
          static_cast<uint8_t>(bit % 32),
          bits,
          Coding::Bits,
          static_cast<uint8_t>(odd_bit / 32),
          static_cast<uint8_t>(odd_bit % 32),
          0,
          0,
          0};
}

// The format determines the sign of an integer: SPIR-V's integers have none, so the kernel's kind may be a guess.
Coding coding_of(ze_image_format_type_t type, uint32_t bits, TexelKind kind) {
  bool as_float = kind == TexelKind::Float;
  switch (type) {
    case ZE_IMAGE_FORMAT_TYPE_SINT:
      return as_float ? Coding::SignedNumber : Coding::SignedBits;
    case ZE_IMAGE_FORMAT_TYPE_UNORM:
      return !as_float ? Coding::Bits : Coding::Unorm;
    case ZE_IMAGE_FORMAT_TYPE_SNORM:
      return !as_float ? Coding::SignedBits : Coding::Snorm;
    case ZE_IMAGE_FORMAT_TYPE_FLOAT:
      return !as_float || bits == 32 ? Coding::Bits : bits == 16 ? Coding::Float16 : bits == 11 ? Coding::Float11 : Coding::Float10;
    default:
      return as_float ? Coding::Number : Coding::Bits;
  }
}

void set_coding(ze_image_format_type_t type, TexelKind kind, Channel* channel) {
  channel->coding = coding_of(type, channel->bits, kind);
  bool is_signed = channel->coding == Coding::Snorm;
  channel->scale = static_cast<float>((uint64_t{1} << (channel->bits - is_signed)) - 1);
  channel->power = 1 / (channel->scale + 1);
  channel->rest = 1 / channel->scale;
}

// Letters name the channels of a layout in order. Programs also write A, or R and A, for layouts of one or two channels: if the
// number of letters equals the number of channels, they map to the channels in order.
void resolve(const ze_image_format_t& format, uint32_t channels, uint8_t source[4]) {
  const ze_image_format_swizzle_t names[4] = {format.x, format.y, format.z, format.w};
  uint32_t named = 0;
  for (ze_image_format_swizzle_t name : names)
    if (name <= ZE_IMAGE_FORMAT_SWIZZLE_A) named |= 1u << name;
  bool in_order = static_cast<uint32_t>(std::popcount(named)) == channels;
  for (uint32_t value = 0; value < 4; ++value) {
    uint32_t name = names[value];
    // In the border only alpha can be one.
    uint8_t one = value == 3 ? Texel::kOne : Texel::kOneInside;
    if (name == ZE_IMAGE_FORMAT_SWIZZLE_D) {
      source[value] = 0;
    } else if (name <= ZE_IMAGE_FORMAT_SWIZZLE_A) {
      uint32_t channel = in_order ? static_cast<uint32_t>(std::popcount(named & ((1u << name) - 1))) : name;
      source[value] = channel < channels ? static_cast<uint8_t>(channel) : name == ZE_IMAGE_FORMAT_SWIZZLE_A ? one : Texel::kZero;
    } else if (name == ZE_IMAGE_FORMAT_SWIZZLE_1) {
      source[value] = one;
    } else {
      source[value] = name == ZE_IMAGE_FORMAT_SWIZZLE_X && value == 3 ? Texel::kOneInside : Texel::kZero;
    }
  }
}

}  // namespace

Texel::Texel(const ImageView& view, TexelKind kind) : one(kind == TexelKind::Float ? std::bit_cast<uint32_t>(1.0f) : 1) {
  const ImageFormat& format = *view.format;
  if (format.media()) {
    MediaTexel media = media_texel(view.desc.layout);
    for (uint32_t value = 0; value < 4; ++value) {
      const Sample& sample = media.value[value];
      source[value] = value == 3 ? kOne : kZero;
      if (sample.bit == kAbsent) continue;
      by_parity |= sample.odd_bit != kAbsent;
      channels[n_channels] = channel_at(sample.bit, sample.odd_bit == kAbsent ? sample.bit : sample.odd_bit, sample.bits);
      set_coding(ZE_IMAGE_FORMAT_TYPE_UNORM, kind, &channels[n_channels]);
      target[n_channels] = static_cast<uint8_t>(value);
      source[value] = n_channels++;
    }
    coding = channels[0].coding;
    return;
  }

  const ImagePlane& plane = format.planes[0];
  n_channels = plane.channels;
  uint32_t bit = 0;
  for (uint32_t i = 0; i < n_channels; ++i) {
    channels[i] = channel_at(bit, bit, plane.bits[i]);
    set_coding(view.desc.type, kind, &channels[i]);
    bit += plane.bits[i];
  }
  resolve(view.desc, n_channels, source);
  for (uint32_t i = 0; i < n_channels; ++i) {
    target[i] = kZero;
    for (uint8_t value = 4; value-- > 0;)
      if (source[value] == i) target[i] = value;
    // Alpha is linear, unless it is also a colour.
    if (view.srgb && channels[i].coding == Coding::Unorm && target[i] < 3) channels[i].coding = Coding::Srgb;
  }
  in_order = n_channels == 4 && source[0] == 0 && source[1] == 1 && source[2] == 2 && source[3] == 3;
  bool alike = std::all_of(channels, channels + n_channels, [this](const Channel& c) { return c.coding == channels[0].coding; });
  if (alike) coding = channels[0].coding;
}

const Texel& Texel::of(const ImageView& view, TexelKind kind, Texel* storage) {
  struct Slot {
    std::atomic<uint32_t> key{0};  // 0: empty; 1: being written
    Texel texel;
  };
  static constinit Slot slots[512];
  const ze_image_format_t& desc = view.desc;
  uint32_t key = desc.layout | desc.type << 6 | desc.x << 9 | desc.y << 12 | desc.z << 15 | desc.w << 18;
  key = (key << 3 | static_cast<uint32_t>(kind) << 1 | view.srgb) + 2;
  Slot& slot = slots[key * 0x9e3779b1u >> 23];
  uint32_t found = slot.key.load(std::memory_order_acquire);
  if (found == key) return slot.texel;
  *storage = Texel(view, kind);
  if (found == 0 && slot.key.compare_exchange_strong(found, 1, std::memory_order_relaxed)) {
    slot.texel = *storage;
    slot.key.store(key, std::memory_order_release);
  }
  return *storage;
}

SrgbTable::SrgbTable() {
  auto decoded = [](double code) {
    double value = code / 255;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  for (uint32_t i = 0; i < 256; ++i) linear[i] = static_cast<float>(decoded(i));
  for (uint32_t i = 0; i < 255; ++i) above[i] = static_cast<float>(decoded(i + 0.5));
}

uint32_t SrgbTable::encode(float value) const {
  return value == value ? static_cast<uint32_t>(std::lower_bound(above, std::end(above), value) - above) : 0;
}

const SrgbTable& srgb_table() {
  static const SrgbTable table;
  return table;
}

uint32_t channel_data_type(const ImageView& view) {
  enum : uint32_t {
    SnormInt8 = 0,
    SnormInt16 = 1,
    UnormInt8 = 2,
    UnormInt16 = 3,
    UnormShort565 = 4,
    UnormShort555 = 5,
    SignedInt8 = 7,
    UnsignedInt8 = 10,
    HalfFloat = 13,
    Float = 14,
    UnormInt101010_2 = 16,
  };
  const ImagePlane& plane = view.format->planes[0];
  ze_image_format_type_t type = view.format->media() ? ZE_IMAGE_FORMAT_TYPE_UNORM : view.desc.type;
  bool even = plane.bits[0] == 8 || plane.bits[0] == 16 || plane.bits[0] == 32;
  uint32_t wider = plane.bits[0] == 8 ? 0 : plane.bits[0] == 16 ? 1 : 2;
  if (even && type == ZE_IMAGE_FORMAT_TYPE_UINT) return UnsignedInt8 + wider;
  if (even && type == ZE_IMAGE_FORMAT_TYPE_SINT) return SignedInt8 + wider;
  if (even && type == ZE_IMAGE_FORMAT_TYPE_FLOAT && wider) return wider == 1 ? HalfFloat : Float;
  if (even && wider < 2) return (type == ZE_IMAGE_FORMAT_TYPE_UNORM ? UnormInt8 : SnormInt8) + wider;
  if (type != ZE_IMAGE_FORMAT_TYPE_UNORM) return kNoEnumerant;
  switch (view.desc.layout) {
    case ZE_IMAGE_FORMAT_LAYOUT_5_6_5:
      return UnormShort565;
    case ZE_IMAGE_FORMAT_LAYOUT_5_5_5_1:
      return UnormShort555;
    case ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2:
    case ZE_IMAGE_FORMAT_LAYOUT_Y410:
      return UnormInt101010_2;
    default:
      return kNoEnumerant;
  }
}

uint32_t channel_order(const ImageView& view) {
  constexpr uint8_t k0 = Texel::kZero, k1 = Texel::kOne, kX = Texel::kOneInside;
  struct Order {
    uint8_t source[4];
    uint32_t plain, srgb;
  };
  static constexpr Order kOrders[] = {
      {{0, 1, 2, 3}, 5, 17},      // RGBA, sRGBA
      {{2, 1, 0, 3}, 6, 18},      // BGRA, sBGRA
      {{0, k0, k0, k1}, 0, 0},    // R
      {{k0, k0, k0, 0}, 1, 1},    // A
      {{0, 1, k0, k1}, 2, 2},     // RG
      {{0, k0, k0, 1}, 3, 3},     // RA
      {{0, 1, 2, k1}, 4, 15},     // RGB, sRGB
      {{3, 0, 1, 2}, 7, 7},       // ARGB, as programs spell it
      {{1, 2, 3, 0}, 7, 7},       // ARGB, as it would have to be spelled
      {{0, 0, 0, 0}, 8, 8},       // Intensity
      {{0, 0, 0, k1}, 9, 9},      // Luminance
      {{0, k0, k0, kX}, 10, 10},  // Rx
      {{0, 1, k0, kX}, 11, 11},   // RGx
      {{0, 1, 2, kX}, 12, 16},    // RGBx, sRGBx
      {{3, 2, 1, 0}, 19, 19},     // ABGR
  };
  constexpr uint32_t kDepth = 13;
  if (!view.format->media() && view.desc.x == ZE_IMAGE_FORMAT_SWIZZLE_D) return kDepth;
  Texel texel(view, TexelKind::Float);
  for (const Order& order : kOrders)
    if (std::memcmp(order.source, texel.source, sizeof order.source) == 0) return view.srgb ? order.srgb : order.plain;
  return kNoEnumerant;
}

}  // namespace anyzero
