// Fill a two-dimensional image from host memory, and read it back: the host accesses an image only by copies.
#include "check.h"

int main() {
  constexpr uint32_t kSide = 128;
  Setup s;

  // One 32-bit float per pixel; a kernel reads it as (red, 0, 0, 1).
  ze_image_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
                          .type = ZE_IMAGE_TYPE_2D,
                          .format = {ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_FLOAT, ZE_IMAGE_FORMAT_SWIZZLE_R,
                                     ZE_IMAGE_FORMAT_SWIZZLE_0, ZE_IMAGE_FORMAT_SWIZZLE_0, ZE_IMAGE_FORMAT_SWIZZLE_1},
                          .width = kSide,
                          .height = kSide,
                          .depth = 1};
  ze_image_handle_t image = nullptr;
  CHECK(zeImageCreate(s.context, s.device, &desc, &image));

  std::vector<float> pixels(kSide * kSide), back(pixels.size());
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i);

  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();
  // A null region is the whole image.
  CHECK(zeCommandListAppendImageCopyFromMemory(list, image, pixels.data(), nullptr, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendImageCopyToMemory(list, back.data(), image, nullptr, nullptr, 0, nullptr));
  s.run(queue, list);
  prove(back == pixels, "a %u x %u float image was read back unchanged", kSide, kSide);

  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeImageDestroy(image));
}
