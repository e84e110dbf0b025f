// Scale images with a kernel that has its sampler in the program, and bind other images between two launches.
#include <cmath>

#include "kernels.h"

namespace {

constexpr uint32_t kWidth = 96, kHeight = 64, kScale = 2;
constexpr uint32_t kLargeWidth = kScale * kWidth, kLargeHeight = kScale * kHeight;

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
  ze_kernel_handle_t scale = make_kernel(module, "scale");
  ze_image_handle_t ramp = make_image(s, kWidth, kHeight, 0), steep = make_image(s, kWidth, kHeight, 0);
  ze_image_handle_t large = make_image(s, kLargeWidth, kLargeHeight, ZE_IMAGE_FLAG_KERNEL_WRITE);
  ze_image_handle_t wide = make_image(s, kLargeWidth, kLargeHeight, ZE_IMAGE_FLAG_KERNEL_WRITE);

  // A ramp stays a ramp when it is scaled, and its slope becomes half.
  Pixel *pixels = s.host<Pixel>(kWidth * kHeight), *triple = s.host<Pixel>(kWidth * kHeight);
  for (uint32_t y = 0; y < kHeight; ++y)
    for (uint32_t x = 0; x < kWidth; ++x) {
      auto fx = static_cast<float>(x), fy = static_cast<float>(y);
      pixels[y * kWidth + x] = {fx, fy, fx + fy, 1};
      triple[y * kWidth + x] = {3 * fx, 3 * fy, 3 * (fx + fy), 3};
    }
  Pixel *scaled = s.host<Pixel>(kLargeWidth * kLargeHeight), *second = s.host<Pixel>(kLargeWidth * kLargeHeight);

  uint32_t width = 0, height = 0, depth = 0;
  CHECK(zeKernelSuggestGroupSize(scale, kLargeWidth, kLargeHeight, 1, &width, &height, &depth));
  CHECK(zeKernelSetGroupSize(scale, width, height, depth));
  ze_group_count_t groups = {kLargeWidth / width, kLargeHeight / height, 1};
  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();
  CHECK(zeCommandListAppendImageCopyFromMemory(list, ramp, pixels, nullptr, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendImageCopyFromMemory(list, steep, triple, nullptr, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  // Filtering and addressing of the source are a constant sampler of the program: no sampler is bound.
  set_arguments(scale, ramp, large, kLargeWidth, kLargeHeight);
  CHECK(zeCommandListAppendLaunchKernel(list, scale, &groups, nullptr, 0, nullptr));
  // The launch has captured its arguments; the next one gets other images and the sizes as they are.
  set_arguments(scale, steep, wide);
  CHECK(zeCommandListAppendLaunchKernel(list, scale, &groups, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendImageCopyToMemory(list, scaled, large, nullptr, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendImageCopyToMemory(list, second, wide, nullptr, nullptr, 0, nullptr));
  s.run(queue, list);

  auto near = [](float a, float b) { return std::fabs(a - b) < 1e-3f; };
  auto sloped = [&](const Pixel* image, float slope) {
    bool good = true;
    // Beyond the centre of the last pixel there is no neighbour to interpolate with.
    for (uint32_t y = 1; y + 2 < kLargeHeight; ++y)
      for (uint32_t x = 1; x + 2 < kLargeWidth; ++x) {
        const Pixel *at = image + y * kLargeWidth + x, *right = at + 1, *below = at + kLargeWidth;
        good &= near(right->r - at->r, slope) && near(below->g - at->g, slope) && near(at->b, at->r + at->g);
      }
    return good;
  };
  prove(sloped(scaled, 0.5f), "%u x %u pixels became %u x %u, and their slopes half as steep", kWidth, kHeight, kLargeWidth,
        kLargeHeight);
  prove(sloped(second, 1.5f), "the second launch had other images, with three times the slope");

  ze_kernel_handle_t chosen = make_kernel(module, "image_scaling");
  ze_sampler_handle_t nearest = make_sampler(s, ZE_SAMPLER_FILTER_MODE_NEAREST);
  CHECK(zeCommandListReset(list));
  set_arguments(chosen, ramp, large, nearest);
  CHECK(zeKernelSetGroupSize(chosen, width, height, depth));
  CHECK(zeCommandListAppendLaunchKernel(list, chosen, &groups, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendImageCopyToMemory(list, scaled, large, nullptr, nullptr, 0, nullptr));
  s.run(queue, list);
  bool good = true;
  for (uint32_t y = 0; y < kLargeHeight; ++y)
    for (uint32_t x = 0; x < kLargeWidth; ++x) good &= scaled[y * kLargeWidth + x].b == static_cast<float>(x / kScale + y / kScale);
  prove(good, "with a sampler argument, here for the nearest pixel, every pixel appears four times");

  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeSamplerDestroy(nearest));
  for (ze_image_handle_t image : {ramp, steep, large, wide}) CHECK(zeImageDestroy(image));
  for (ze_kernel_handle_t kernel : {scale, chosen}) CHECK(zeKernelDestroy(kernel));
  CHECK(zeModuleDestroy(module));
  for (Pixel* memory : {pixels, triple, scaled, second}) CHECK(zeMemFree(s.context, memory));
}
