#include "image_format.h"

namespace anyzero {
namespace {

constexpr uint8_t type_bit(ze_image_format_type_t type) { return static_cast<uint8_t>(1u << type); }

constexpr uint8_t kUint = type_bit(ZE_IMAGE_FORMAT_TYPE_UINT);
constexpr uint8_t kSint = type_bit(ZE_IMAGE_FORMAT_TYPE_SINT);
constexpr uint8_t kUnorm = type_bit(ZE_IMAGE_FORMAT_TYPE_UNORM);
constexpr uint8_t kSnorm = type_bit(ZE_IMAGE_FORMAT_TYPE_SNORM);
constexpr uint8_t kFloat = type_bit(ZE_IMAGE_FORMAT_TYPE_FLOAT);
constexpr uint8_t kInteger = kUint | kSint | kUnorm | kSnorm;
constexpr uint8_t kAny = kInteger | kFloat;
constexpr uint8_t kUnsigned = kUint | kUnorm;
// Kernels read normalised components as float, whose 24 bits would lose the low bits of 32.
constexpr uint8_t kWide = kUint | kSint | kFloat;

constexpr auto kComponents = ImageFormat::Family::Components;
constexpr auto kMedia = ImageFormat::Family::Media;
constexpr auto kPalette = ImageFormat::Family::Palette;

// `channels` of `bits` each, one element per pixel by default.
constexpr ImagePlane even(uint8_t channels, uint8_t bits, uint8_t across = 1, uint8_t down = 1) {
  ImagePlane plane{static_cast<uint8_t>(channels * bits / 8), across, down, channels, {}};
  for (uint8_t i = 0; i < channels; ++i) plane.bits[i] = bits;
  return plane;
}

constexpr ImagePlane uneven(uint8_t bytes, uint8_t channels, uint8_t a, uint8_t b, uint8_t c = 0, uint8_t d = 0) {
  return {bytes, 1, 1, channels, {a, b, c, d}};
}

constexpr ImageFormat components(const char* name, uint8_t types, ImagePlane plane) {
  return {name, kComponents, types, 1, {plane, {}, {}}};
}

constexpr ImageFormat packed(const char* name, ImagePlane plane, ImageFormat::Family family = kMedia) {
  return {name, family, kAny, 1, {plane, {}, {}}};
}

// Two luma samples share one sample of each chroma.
constexpr ImageFormat packed_422(const char* name, uint8_t bits) { return packed(name, even(4, bits, 2)); }

// A luma plane, then a plane with both chromas interleaved.
constexpr ImageFormat biplanar(const char* name, uint8_t bits, uint8_t down) {
  return {name, kMedia, kAny, 2, {even(1, bits), even(2, bits, 2, down), {}}};
}

constexpr ImageFormat triplanar(const char* name, uint8_t across, uint8_t down) {
  return {name, kMedia, kAny, 3, {even(1, 8), even(1, 8, across, down), even(1, 8, across, down)}};
}

// In the order of ze_image_format_layout_t.
constexpr ImageFormat kFormats[] = {
    components("8", kInteger, even(1, 8)),
    components("16", kAny, even(1, 16)),
    components("32", kWide, even(1, 32)),
    components("8_8", kInteger, even(2, 8)),
    components("8_8_8_8", kInteger, even(4, 8)),
    components("16_16", kAny, even(2, 16)),
    components("16_16_16_16", kAny, even(4, 16)),
    components("32_32", kWide, even(2, 32)),
    components("32_32_32_32", kWide, even(4, 32)),
    components("10_10_10_2", kInteger, uneven(4, 4, 10, 10, 10, 2)),
    components("11_11_10", kUnsigned | kFloat, uneven(4, 3, 11, 11, 10)),
    components("5_6_5", kUnsigned, uneven(2, 3, 5, 6, 5)),
    components("5_5_5_1", kUnsigned, uneven(2, 4, 5, 5, 5, 1)),
    components("4_4_4_4", kUnsigned, uneven(2, 4, 4, 4, 4, 4)),
    packed("Y8", even(1, 8)),
    biplanar("NV12", 8, 2),
    packed_422("YUYV", 8),
    packed_422("VYUY", 8),
    packed_422("YVYU", 8),
    packed_422("UYVY", 8),
    packed("AYUV", even(4, 8)),
    biplanar("P010", 16, 2),
    packed("Y410", uneven(4, 4, 10, 10, 10, 2)),
    biplanar("P012", 16, 2),
    packed("Y16", even(1, 16)),
    biplanar("P016", 16, 2),
    packed_422("Y216", 16),
    biplanar("P216", 16, 1),
    packed("P8", even(1, 8), kPalette),
    packed_422("YUY2", 8),
    packed("A8P8", even(2, 8), kPalette),
    packed("IA44", uneven(1, 2, 4, 4), kPalette),
    packed("AI44", uneven(1, 2, 4, 4), kPalette),
    packed("Y416", even(4, 16)),
    packed_422("Y210", 16),
    triplanar("I420", 2, 2),
    triplanar("YV12", 2, 2),
    packed("400P", even(1, 8)),
    triplanar("422H", 2, 1),
    triplanar("422V", 1, 2),
    triplanar("444P", 1, 1),
    triplanar("RGBP", 1, 1),
    triplanar("BRGP", 1, 1),
    components("8_8_8", kInteger, even(3, 8)),
    components("16_16_16", kAny, even(3, 16)),
    components("32_32_32", kWide, even(3, 32)),
};
constexpr size_t kCount = sizeof kFormats / sizeof *kFormats;
static_assert(kCount == ZE_IMAGE_FORMAT_LAYOUT_32_32_32 + 1);

// Each plane begins at the end of the previous one.
void stack_planes(const ImageFormat& format, uint64_t height, SliceLayout* layout) {
  layout->bytes = 0;
  for (uint32_t i = 0; i < format.n_planes; ++i) {
    layout->offset[i] = layout->bytes;
    layout->bytes += layout->row_pitch[i] * format.planes[i].rows(height);
  }
}

}  // namespace

bool ImageFormat::filterable(ze_image_format_type_t type) const {
  if (media()) return family != Family::Palette;
  return type == ZE_IMAGE_FORMAT_TYPE_UNORM || type == ZE_IMAGE_FORMAT_TYPE_SNORM || type == ZE_IMAGE_FORMAT_TYPE_FLOAT;
}

bool ImageFormat::allows_srgb(ze_image_format_type_t type) const {
  return !media() && type == ZE_IMAGE_FORMAT_TYPE_UNORM && planes[0].bits[0] == 8;
}

bool ImageFormat::same_elements(const ImageFormat& other) const {
  if (n_planes != other.n_planes) return false;
  for (uint32_t i = 0; i < n_planes; ++i)
    if (!planes[i].same_elements(other.planes[i])) return false;
  return true;
}

const ImageFormat* image_format(ze_image_format_layout_t layout) {
  return static_cast<size_t>(layout) < kCount ? &kFormats[layout] : nullptr;
}

const ImageFormat* image_format(ze_image_type_t shape, const ze_image_format_t& format) {
  const ImageFormat* found = image_format(format.layout);
  if (!found || !found->allows(format.type)) return nullptr;
  return shape == ZE_IMAGE_TYPE_BUFFER && found->media() ? nullptr : found;
}

SliceLayout lay_out(const ImageFormat& format, uint64_t width, uint64_t height, size_t alignment) {
  SliceLayout layout{};
  for (uint32_t i = 0; i < format.n_planes; ++i) {
    const ImagePlane& plane = format.planes[i];
    layout.row_pitch[i] = (plane.columns(width) * plane.bytes + alignment - 1) / alignment * alignment;
  }
  stack_planes(format, height, &layout);
  return layout;
}

bool lay_out_pitched(const ImageFormat& format, uint64_t width, uint64_t height, size_t row_pitch, SliceLayout* layout) {
  *layout = {};
  if (row_pitch > UINT32_MAX) return false;  // it is multiplied below
  const ImagePlane& first = format.planes[0];
  for (uint32_t i = 0; i < format.n_planes; ++i) {
    const ImagePlane& plane = format.planes[i];
    layout->row_pitch[i] = row_pitch * plane.bytes * first.across / (size_t{first.bytes} * plane.across);
    if (layout->row_pitch[i] < plane.columns(width) * plane.bytes) return false;
  }
  stack_planes(format, height, layout);
  return true;
}

}  // namespace anyzero
