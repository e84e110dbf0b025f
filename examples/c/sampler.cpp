// Filtering and addressing modes: sampling between pixels and outside of an image.
#include <cmath>

#include "kernels.h"

namespace {

struct Place {
  float x, y;
};

struct Scene {
  Setup s;
  ze_module_handle_t module = make_module(s, "sampler");
  ze_kernel_handle_t look = make_kernel(module, "look");
  ze_image_handle_t image = nullptr;
  Place* places = s.host<Place>(3);
  float* out = s.host<float>(3);

  // One row of four pixels.
  Scene() {
    ze_image_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
                            .type = ZE_IMAGE_TYPE_2D,
                            .format = {.layout = ZE_IMAGE_FORMAT_LAYOUT_32,
                                       .type = ZE_IMAGE_FORMAT_TYPE_FLOAT,
                                       .x = ZE_IMAGE_FORMAT_SWIZZLE_R,
                                       .y = ZE_IMAGE_FORMAT_SWIZZLE_0,
                                       .z = ZE_IMAGE_FORMAT_SWIZZLE_0,
                                       .w = ZE_IMAGE_FORMAT_SWIZZLE_1},
                            .width = 4,
                            .height = 1,
                            .depth = 1};
    CHECK(zeImageCreate(s.context, s.device, &desc, &image));
    const float row[] = {10, 20, 30, 40};
    ze_command_queue_handle_t queue = s.queue();
    ze_command_list_handle_t list = s.list();
    CHECK(zeCommandListAppendImageCopyFromMemory(list, image, row, nullptr, nullptr, 0, nullptr));
    s.run(queue, list);
    CHECK(zeCommandListDestroy(list));
    CHECK(zeCommandQueueDestroy(queue));
  }
  ~Scene() {
    CHECK(zeMemFree(s.context, places));
    CHECK(zeMemFree(s.context, out));
    CHECK(zeImageDestroy(image));
    CHECK(zeKernelDestroy(look));
    CHECK(zeModuleDestroy(module));
  }

  // Checks that the kernel samples these values at these columns.
  bool sees(ze_sampler_filter_mode_t filter, ze_sampler_address_mode_t address, bool normalized, std::vector<float> columns,
            std::vector<float> expected) {
    ze_sampler_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_SAMPLER_DESC, .addressMode = address, .filterMode = filter, .isNormalized = normalized};
    ze_sampler_handle_t sampler = nullptr;
    CHECK(zeSamplerCreate(s.context, s.device, &desc, &sampler));
    for (size_t i = 0; i < columns.size(); ++i) places[i] = {columns[i], 0.5f};
    run_kernel(s, look, static_cast<uint32_t>(columns.size()), 1, image, sampler, places, out);
    CHECK(zeSamplerDestroy(sampler));
    bool good = true;
    for (size_t i = 0; i < columns.size(); ++i) good &= std::fabs(out[i] - expected[i]) < 1e-3f;
    return good;
  }
};

}  // namespace

int main() {
  Scene scene;
  constexpr auto kNearest = ZE_SAMPLER_FILTER_MODE_NEAREST, kLinear = ZE_SAMPLER_FILTER_MODE_LINEAR;
  constexpr auto kNone = ZE_SAMPLER_ADDRESS_MODE_NONE;

  prove(scene.sees(kNearest, kNone, false, {0.5f, 1.0f, 1.4f}, {10, 20, 20}),
        "nearest filtering returns the pixel that contains the coordinate");
  prove(scene.sees(kLinear, ZE_SAMPLER_ADDRESS_MODE_CLAMP, false, {0.5f, 1.0f, 1.25f}, {10, 15, 17.5f}),
        "linear filtering interpolates between neighbours");
  prove(scene.sees(kLinear, ZE_SAMPLER_ADDRESS_MODE_CLAMP, true, {0.125f, 0.25f}, {10, 15}),
        "normalized coordinates range from 0 to 1 for any size");
  bool good = scene.sees(kNearest, ZE_SAMPLER_ADDRESS_MODE_CLAMP, false, {-3, 9}, {10, 40}) &&
              scene.sees(kNearest, ZE_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER, false, {-3, 9}, {0, 0}) &&
              scene.sees(kNearest, ZE_SAMPLER_ADDRESS_MODE_REPEAT, true, {-0.125f, 1.125f}, {40, 10}) &&
              scene.sees(kNearest, ZE_SAMPLER_ADDRESS_MODE_MIRROR, true, {-0.125f, 1.125f}, {10, 40});
  prove(good, "outside of the image there is its edge, the border, its repetition, or its mirror image");
}
