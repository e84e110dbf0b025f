// The facts about image formats, against a second list written from the formats' definitions rather than from the table.
#include <cassert>
#include <cstdio>
#include <cstring>

// The library shows nothing but the C ABI, so the table is compiled in once more.
#include "backends/image_format.h"

using namespace anyzero;

namespace {

constexpr uint32_t kLayouts = ZE_IMAGE_FORMAT_LAYOUT_32_32_32 + 1;

struct Expected {
  ze_image_format_layout_t layout;
  const char* name;
  size_t bytes;  // of a 4 × 4 slice without padding
  uint32_t planes;
};

constexpr Expected kExpected[] = {
    {ZE_IMAGE_FORMAT_LAYOUT_8, "8", 16, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_16, "16", 32, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_32, "32", 64, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_8_8, "8_8", 32, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, "8_8_8_8", 64, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_16_16, "16_16", 64, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16, "16_16_16_16", 128, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_32_32, "32_32", 128, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, "32_32_32_32", 256, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2, "10_10_10_2", 64, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_11_11_10, "11_11_10", 64, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_5_6_5, "5_6_5", 32, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_5_5_5_1, "5_5_5_1", 32, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_4_4_4_4, "4_4_4_4", 32, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_Y8, "Y8", 16, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_NV12, "NV12", 24, 2},
    {ZE_IMAGE_FORMAT_LAYOUT_YUYV, "YUYV", 32, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_VYUY, "VYUY", 32, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_YVYU, "YVYU", 32, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_UYVY, "UYVY", 32, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_AYUV, "AYUV", 64, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_P010, "P010", 48, 2},
    {ZE_IMAGE_FORMAT_LAYOUT_Y410, "Y410", 64, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_P012, "P012", 48, 2},
    {ZE_IMAGE_FORMAT_LAYOUT_Y16, "Y16", 32, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_P016, "P016", 48, 2},
    {ZE_IMAGE_FORMAT_LAYOUT_Y216, "Y216", 64, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_P216, "P216", 64, 2},
    {ZE_IMAGE_FORMAT_LAYOUT_P8, "P8", 16, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_YUY2, "YUY2", 32, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_A8P8, "A8P8", 32, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_IA44, "IA44", 16, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_AI44, "AI44", 16, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_Y416, "Y416", 128, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_Y210, "Y210", 64, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_I420, "I420", 24, 3},
    {ZE_IMAGE_FORMAT_LAYOUT_YV12, "YV12", 24, 3},
    {ZE_IMAGE_FORMAT_LAYOUT_400P, "400P", 16, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_422H, "422H", 32, 3},
    {ZE_IMAGE_FORMAT_LAYOUT_422V, "422V", 32, 3},
    {ZE_IMAGE_FORMAT_LAYOUT_444P, "444P", 48, 3},
    {ZE_IMAGE_FORMAT_LAYOUT_RGBP, "RGBP", 48, 3},
    {ZE_IMAGE_FORMAT_LAYOUT_BRGP, "BRGP", 48, 3},
    {ZE_IMAGE_FORMAT_LAYOUT_8_8_8, "8_8_8", 48, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_16_16_16, "16_16_16", 96, 1},
    {ZE_IMAGE_FORMAT_LAYOUT_32_32_32, "32_32_32", 192, 1},
};
static_assert(sizeof kExpected / sizeof *kExpected == kLayouts);

const ImageFormat& format_of(ze_image_format_layout_t layout) {
  const ImageFormat* format = image_format(layout);
  assert(format);
  return *format;
}

void every_layout_is_described() {
  for (const Expected& expected : kExpected) {
    const ImageFormat& format = format_of(expected.layout);
    assert(std::strcmp(format.name, expected.name) == 0);
    assert(format.n_planes == expected.planes);
    assert(lay_out(format, 4, 4, 1).bytes == expected.bytes);
  }
  assert(!image_format(static_cast<ze_image_format_layout_t>(kLayouts)));
  assert(!image_format(ZE_IMAGE_FORMAT_LAYOUT_FORCE_UINT32));
}

void the_bits_of_the_channels_fill_the_element() {
  for (const Expected& expected : kExpected) {
    const ImageFormat& format = format_of(expected.layout);
    for (uint32_t i = 0; i < format.n_planes; ++i) {
      const ImagePlane& plane = format.planes[i];
      uint32_t bits = 0;
      for (uint32_t channel = 0; channel < 4; ++channel) {
        assert((plane.bits[channel] != 0) == (channel < plane.channels));
        bits += plane.bits[channel];
      }
      assert(bits == plane.bytes * 8u);
    }
  }
}

void types_that_mean_nothing_are_refused() {
  auto allows = [](ze_image_format_layout_t layout, ze_image_format_type_t type) { return format_of(layout).allows(type); };
  assert(allows(ZE_IMAGE_FORMAT_LAYOUT_8, ZE_IMAGE_FORMAT_TYPE_SNORM));
  assert(!allows(ZE_IMAGE_FORMAT_LAYOUT_8, ZE_IMAGE_FORMAT_TYPE_FLOAT));
  assert(allows(ZE_IMAGE_FORMAT_LAYOUT_16, ZE_IMAGE_FORMAT_TYPE_FLOAT));
  assert(!allows(ZE_IMAGE_FORMAT_LAYOUT_5_6_5, ZE_IMAGE_FORMAT_TYPE_SNORM));
  assert(!allows(ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2, ZE_IMAGE_FORMAT_TYPE_FLOAT));
  assert(allows(ZE_IMAGE_FORMAT_LAYOUT_11_11_10, ZE_IMAGE_FORMAT_TYPE_FLOAT));
  assert(!allows(ZE_IMAGE_FORMAT_LAYOUT_11_11_10, ZE_IMAGE_FORMAT_TYPE_SINT));
  assert(!allows(ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_FORCE_UINT32));
  assert(!allows(ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_UNORM) &&
         allows(ZE_IMAGE_FORMAT_LAYOUT_16, ZE_IMAGE_FORMAT_TYPE_UNORM));
  // The specification says that media formats ignore the type.
  for (uint32_t type = ZE_IMAGE_FORMAT_TYPE_UINT; type <= ZE_IMAGE_FORMAT_TYPE_FLOAT; ++type)
    assert(allows(ZE_IMAGE_FORMAT_LAYOUT_NV12, static_cast<ze_image_format_type_t>(type)));
}

void buffers_hold_no_media() {
  ze_image_format_t format{};
  format.type = ZE_IMAGE_FORMAT_TYPE_UINT;
  for (const Expected& expected : kExpected) {
    format.layout = expected.layout;
    assert(image_format(ZE_IMAGE_TYPE_2D, format));
    assert((image_format(ZE_IMAGE_TYPE_BUFFER, format) != nullptr) == !format_of(expected.layout).media());
  }
}

void only_blendable_values_are_filterable() {
  assert(format_of(ZE_IMAGE_FORMAT_LAYOUT_8).filterable(ZE_IMAGE_FORMAT_TYPE_UNORM));
  assert(format_of(ZE_IMAGE_FORMAT_LAYOUT_32).filterable(ZE_IMAGE_FORMAT_TYPE_FLOAT));
  assert(!format_of(ZE_IMAGE_FORMAT_LAYOUT_8).filterable(ZE_IMAGE_FORMAT_TYPE_UINT));
  assert(format_of(ZE_IMAGE_FORMAT_LAYOUT_NV12).filterable(ZE_IMAGE_FORMAT_TYPE_UINT));
  assert(!format_of(ZE_IMAGE_FORMAT_LAYOUT_P8).filterable(ZE_IMAGE_FORMAT_TYPE_UNORM));
  assert(format_of(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8).allows_srgb(ZE_IMAGE_FORMAT_TYPE_UNORM));
  assert(!format_of(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8).allows_srgb(ZE_IMAGE_FORMAT_TYPE_UINT));
  assert(!format_of(ZE_IMAGE_FORMAT_LAYOUT_16).allows_srgb(ZE_IMAGE_FORMAT_TYPE_UNORM));
}

void odd_sizes_round_chroma_up() {
  const ImageFormat& i420 = format_of(ZE_IMAGE_FORMAT_LAYOUT_I420);
  SliceLayout tight = lay_out(i420, 5, 3, 1);
  assert(tight.row_pitch[0] == 5 && tight.row_pitch[1] == 3 && tight.row_pitch[2] == 3);
  assert(tight.offset[1] == 15 && tight.offset[2] == 21 && tight.bytes == 27);
  SliceLayout padded = lay_out(i420, 5, 3, kRowAlignment);
  assert(padded.row_pitch[1] == 64 && padded.offset[1] == 3 * 64 && padded.bytes == 7 * 64);
}

void planes_follow_the_given_pitch() {
  SliceLayout layout;
  assert(lay_out_pitched(format_of(ZE_IMAGE_FORMAT_LAYOUT_NV12), 6, 4, 10, &layout));
  assert(layout.row_pitch[0] == 10 && layout.row_pitch[1] == 10 && layout.offset[1] == 40 && layout.bytes == 60);
  assert(lay_out_pitched(format_of(ZE_IMAGE_FORMAT_LAYOUT_YV12), 6, 4, 10, &layout));
  assert(layout.row_pitch[1] == 5 && layout.offset[2] == 50 && layout.bytes == 60);
  assert(lay_out_pitched(format_of(ZE_IMAGE_FORMAT_LAYOUT_YUYV), 6, 4, 13, &layout));
  assert(layout.row_pitch[0] == 13 && layout.bytes == 52);
  assert(!lay_out_pitched(format_of(ZE_IMAGE_FORMAT_LAYOUT_YUYV), 6, 4, 11, &layout));
  assert(!lay_out_pitched(format_of(ZE_IMAGE_FORMAT_LAYOUT_8), 6, 4, size_t{1} << 62, &layout));
}

void only_equal_elements_are_copied() {
  auto same = [](ze_image_format_layout_t a, ze_image_format_layout_t b) { return format_of(a).same_elements(format_of(b)); };
  assert(same(ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8));
  assert(same(ZE_IMAGE_FORMAT_LAYOUT_I420, ZE_IMAGE_FORMAT_LAYOUT_YV12));
  assert(!same(ZE_IMAGE_FORMAT_LAYOUT_YUYV, ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8));
  assert(!same(ZE_IMAGE_FORMAT_LAYOUT_422H, ZE_IMAGE_FORMAT_LAYOUT_422V));
  assert(!same(ZE_IMAGE_FORMAT_LAYOUT_8, ZE_IMAGE_FORMAT_LAYOUT_NV12));
}

}  // namespace

int main() {
  every_layout_is_described();
  the_bits_of_the_channels_fill_the_element();
  types_that_mean_nothing_are_refused();
  buffers_hold_no_media();
  only_blendable_values_are_filterable();
  odd_sizes_round_chroma_up();
  planes_follow_the_given_pitch();
  only_equal_elements_are_copied();
  std::puts("image_format_test: ok");
  return 0;
}
