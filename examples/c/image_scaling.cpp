// Scale an image with a kernel: two images and a sampler as arguments, recorded in a list with its transfers.
#include <cmath>

#include "kernels.h"

namespace {

constexpr uint32_t kWidth = 96, kHeight = 64, kScale = 2;

struct Pixel {
  float r, g, b, a;
};

ze_image_handle_t make_image(const Setup& s, uint32_t width, uint32_t height, ze_image_flags_t flags) {
  ze_image_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
                          .flags = flags,
                          .type = ZE_IMAGE_TYPE_2D,
                          .format = {.layout = ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32,
                                     .type = ZE_IMAGE_FORMAT_TYPE_FLOAT,
                                     .x = ZE_IMAGE_FORMAT_SWIZZLE_R,
                                     .y = ZE_IMAGE_FORMAT_SWIZZLE_G,
                                     .z = ZE_IMAGE_FORMAT_SWIZZLE_B,
                                     .w = ZE_IMAGE_FORMAT_SWIZZLE_A},
                          .width = width,
                          .height = height,
                          .depth = 1};
  ze_image_handle_t image = nullptr;
  CHECK(zeImageCreate(s.context, s.device, &desc, &image));
  return image;
}

ze_sampler_handle_t make_sampler(const Setup& s, ze_sampler_filter_mode_t filter) {
  ze_sampler_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_SAMPLER_DESC,
                            .addressMode = ZE_SAMPLER_ADDRESS_MODE_CLAMP,
                            .filterMode = filter,
                            .isNormalized = true};
  ze_sampler_handle_t sampler = nullptr;
  CHECK(zeSamplerCreate(s.context, s.device, &desc, &sampler));
  return sampler;
}

}  // namespace

int main() {
  Setup s;
  ze_module_handle_t module = make_module(s, "image_scaling");
  ze_kernel_handle_t kernel = make_kernel(module, "image_scaling");
  ze_image_handle_t small = make_image(s, kWidth, kHeight, 0);
  ze_image_handle_t large = make_image(s, kScale * kWidth, kScale * kHeight, ZE_IMAGE_FLAG_KERNEL_WRITE);
  ze_sampler_handle_t smooth = make_sampler(s, ZE_SAMPLER_FILTER_MODE_LINEAR);
  ze_sampler_handle_t nearest = make_sampler(s, ZE_SAMPLER_FILTER_MODE_NEAREST);

  // A ramp stays a ramp when it is scaled, and its slope becomes half.
  Pixel* pixels = s.host<Pixel>(kWidth * kHeight);
  for (uint32_t y = 0; y < kHeight; ++y)
    for (uint32_t x = 0; x < kWidth; ++x)
      pixels[y * kWidth + x] = {static_cast<float>(x), static_cast<float>(y), static_cast<float>(x + y), 1};
  Pixel* scaled = s.host<Pixel>(kScale * kWidth * kScale * kHeight);

  uint32_t width = 0, height = 0, depth = 0;
  CHECK(zeKernelSuggestGroupSize(kernel, kScale * kWidth, kScale * kHeight, 1, &width, &height, &depth));
  CHECK(zeKernelSetGroupSize(kernel, width, height, depth));
  ze_group_count_t groups = {kScale * kWidth / width, kScale * kHeight / height, 1};
  ze_command_queue_handle_t queue = s.queue();
  auto scale = [&](ze_sampler_handle_t sampler) {
    ze_command_list_handle_t list = s.list();
    CHECK(zeCommandListAppendImageCopyFromMemory(list, small, pixels, nullptr, nullptr, 0, nullptr));
    CHECK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
    set_arguments(kernel, small, large, sampler);
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, nullptr, 0, nullptr));
    CHECK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
    CHECK(zeCommandListAppendImageCopyToMemory(list, scaled, large, nullptr, nullptr, 0, nullptr));
    s.run(queue, list);
    CHECK(zeCommandListDestroy(list));
  };

  scale(smooth);
  bool good = true;
  auto near = [](float a, float b) { return std::fabs(a - b) < 1e-3f; };
  // Beyond the middle of the last pixel there is nothing to interpolate with.
  for (uint32_t y = 1; y + 2 < kScale * kHeight; ++y)
    for (uint32_t x = 1; x + 2 < kScale * kWidth; ++x) {
      const Pixel *at = scaled + y * kScale * kWidth + x, *right = at + 1, *below = at + kScale * kWidth;
      good &= near(right->r - at->r, 0.5f) && near(below->g - at->g, 0.5f) && near(at->b, at->r + at->g) && at->a == 1;
    }
  prove(good, "%u x %u pixels became %u x %u, and their slopes half as steep", kWidth, kHeight, kScale * kWidth, kScale * kHeight);

  scale(nearest);
  for (uint32_t y = 0; y < kScale * kHeight; ++y)
    for (uint32_t x = 0; x < kScale * kWidth; ++x)
      good &= scaled[y * kScale * kWidth + x].b == static_cast<float>(x / kScale + y / kScale);
  prove(good, "with the nearest pixel instead, every pixel is there four times");

  CHECK(zeCommandQueueDestroy(queue));
  for (ze_sampler_handle_t sampler : {smooth, nearest}) CHECK(zeSamplerDestroy(sampler));
  for (ze_image_handle_t image : {small, large}) CHECK(zeImageDestroy(image));
  CHECK(zeKernelDestroy(kernel));
  CHECK(zeModuleDestroy(module));
  CHECK(zeMemFree(s.context, pixels));
  CHECK(zeMemFree(s.context, scaled));
}
