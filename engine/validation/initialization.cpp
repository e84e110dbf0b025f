// Commands and calls after which the contents of device memory and of images are defined, though no kernel wrote them.
#include "initialization.h"

#include <algorithm>
#include <span>

#include "../abi/handle.h"
#include "../check/finding.h"
#include "../exec/written_memory.h"
#include "../objects/images/image.h"
#include "../objects/images/image_region.h"
#include "hooks.h"
#include "spans.h"

namespace anyzero {

namespace {

ze_result_t defined(const void* pointer) {
  if (is_checked(kCheckInit)) note_all_written(pointer);
  return ZE_RESULT_SUCCESS;
}

// Bytes between and behind rows belong to no texel: without them, an image is complete when all its texels are.
void note_padding(const Image& image, WrittenMemory& written) {
  const ImageView& view = image.view();
  const auto number = [](const unsigned char* at) { return reinterpret_cast<uintptr_t>(at); };
  uintptr_t end = number(image.storage().base());
  const auto skip_to = [&](uintptr_t begin) {
    if (begin > end) written.write(end, begin - end);
  };
  for (uint32_t slice = 0; slice < view.slices; ++slice)
    for (uint32_t i = 0; i < view.format->n_planes; ++i) {
      const ImagePlane& plane = view.format->planes[i];
      for (uint64_t row = 0; row < plane.rows(view.height); ++row) {
        const uintptr_t begin = number(view.planes[i].base) + slice * view.slice_pitch + row * view.planes[i].row_pitch;
        skip_to(begin);
        end = begin + plane.columns(view.width) * plane.bytes;
      }
    }
  skip_to(number(image.storage().base()) + image.storage().size());
}

// As with memory, a command counts when it is appended.
ze_result_t defined(ze_image_handle_t handle, const ze_image_region_t* given) {
  if (!is_checked(kCheckInit)) return ZE_RESULT_SUCCESS;
  const auto* image = checked<Image>(handle);
  if (!image) return ZE_RESULT_SUCCESS;
  const ImageView& view = image->view();
  const auto written = written_memory(reinterpret_cast<uintptr_t>(view.planes[0].base));
  ImageRegion region;
  // A region that is none is an error of the call.
  if (!written || read_region(view, given, &region) != ZE_RESULT_SUCCESS || region.empty()) return ZE_RESULT_SUCCESS;
  for (uint32_t i = 0; i < view.format->n_planes; ++i) {
    const ImagePlane& plane = view.format->planes[i];
    const Box box = plane_box(view, i, region);
    for (uint64_t slice = 0; slice < region.slices; ++slice)
      for (uint64_t row = 0; row < plane.rows(region.height); ++row)
        written->write(reinterpret_cast<uintptr_t>(box.base) + slice * box.slice_pitch + row * box.row_pitch,
                       plane.columns(region.width) * plane.bytes);
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t to_memory(ze_command_list_handle_t list, void* to, ze_image_handle_t from, const ze_image_region_t* region,
                      uint32_t row_pitch, uint32_t slice_pitch) {
  defined(to);
  return check_writes(list, to, span_of_image(from, region, row_pitch, slice_pitch));
}

ze_result_t from_memory(ze_command_list_handle_t list, ze_image_handle_t to, const void* from, const ze_image_region_t* region,
                        uint32_t row_pitch, uint32_t slice_pitch) {
  defined(to, region);
  return check_reads(list, from, span_of_image(to, region, row_pitch, slice_pitch));
}

}  // namespace

uint64_t span_of_image(ze_image_handle_t handle, const ze_image_region_t* region, uint32_t row_pitch, uint32_t slice_pitch) {
  const auto* image = checked<Image>(handle);
  BoxCopy copies[kMaxPlanes];
  uint32_t count = 0;
  if (!image || copies_from_memory(image->view(), region, nullptr, row_pitch, slice_pitch, copies, &count) != ZE_RESULT_SUCCESS)
    return 0;
  uint64_t end = 0;
  for (const BoxCopy& copy : std::span(copies, count)) {
    const uint64_t last = (copy.slices - 1) * copy.from.slice_pitch + (copy.rows - 1) * copy.from.row_pitch;
    end = std::max(end, reinterpret_cast<uintptr_t>(copy.from.base) + last + copy.row);
  }
  return end;
}

void note_new_image(ze_image_handle_t handle) {
  const auto* image = is_checked(kCheckInit) ? checked<Image>(handle) : nullptr;
  if (!image || image->storage().borrowed()) return;
  const auto base = reinterpret_cast<uintptr_t>(image->storage().base());
  track_written(base, image->storage().size(), CallPlace().text);
  if (const auto written = written_memory(base)) note_padding(*image, *written);
}

void forget_image(ze_image_handle_t handle) {
  const auto* image = checked<Image>(handle);
  if (image && !image->storage().borrowed()) forget_written(reinterpret_cast<uintptr_t>(image->storage().base()));
}

ze_result_t before_zeCommandListAppendImageCopy(ze_command_list_handle_t, ze_image_handle_t to, ze_image_handle_t,
                                                ze_event_handle_t, uint32_t, ze_event_handle_t*) {
  return defined(to, nullptr);
}

ze_result_t before_zeCommandListAppendImageCopyRegion(ze_command_list_handle_t, ze_image_handle_t to, ze_image_handle_t,
                                                      const ze_image_region_t* to_region, const ze_image_region_t*,
                                                      ze_event_handle_t, uint32_t, ze_event_handle_t*) {
  return defined(to, to_region);
}

ze_result_t before_zeCommandListAppendImageCopyFromMemory(ze_command_list_handle_t list, ze_image_handle_t to, const void* from,
                                                          const ze_image_region_t* region, ze_event_handle_t, uint32_t,
                                                          ze_event_handle_t*) {
  return from_memory(list, to, from, region, 0, 0);
}

ze_result_t before_zeCommandListAppendImageCopyFromMemoryExt(ze_command_list_handle_t list, ze_image_handle_t to, const void* from,
                                                             const ze_image_region_t* region, uint32_t row_pitch,
                                                             uint32_t slice_pitch, ze_event_handle_t, uint32_t,
                                                             ze_event_handle_t*) {
  return from_memory(list, to, from, region, row_pitch, slice_pitch);
}

// A bindless image: kernels may write it without our seeing.
void after_zeImageGetDeviceOffsetExp(ze_result_t, ze_image_handle_t handle, uint64_t*) {
  const auto* image = is_checked(kCheckInit) ? checked<Image>(handle) : nullptr;
  if (image) note_all_written(image->storage().base());
}

ze_result_t before_zeCommandListAppendImageCopyToMemory(ze_command_list_handle_t list, void* to, ze_image_handle_t from,
                                                        const ze_image_region_t* region, ze_event_handle_t, uint32_t,
                                                        ze_event_handle_t*) {
  return to_memory(list, to, from, region, 0, 0);
}

ze_result_t before_zeCommandListAppendImageCopyToMemoryExt(ze_command_list_handle_t list, void* to, ze_image_handle_t from,
                                                           const ze_image_region_t* region, uint32_t row_pitch,
                                                           uint32_t slice_pitch, ze_event_handle_t, uint32_t, ze_event_handle_t*) {
  return to_memory(list, to, from, region, row_pitch, slice_pitch);
}

ze_result_t before_zeCommandListAppendQueryKernelTimestamps(ze_command_list_handle_t list, uint32_t count, ze_event_handle_t*,
                                                            void* to, const size_t* offsets, ze_event_handle_t, uint32_t,
                                                            ze_event_handle_t*) {
  defined(to);
  uint64_t end = 0;
  for (uint32_t i = 0; i < count; ++i)
    end = std::max<uint64_t>(
        end, (offsets ? offsets[i] : i * sizeof(ze_kernel_timestamp_result_t)) + sizeof(ze_kernel_timestamp_result_t));
  return check_writes(list, to, end);
}

// Another process may write it.
ze_result_t before_zeMemGetIpcHandle(ze_context_handle_t, const void* pointer, ze_ipc_mem_handle_t*) { return defined(pointer); }

}  // namespace anyzero
