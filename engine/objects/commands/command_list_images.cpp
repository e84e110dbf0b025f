// Copies with images: each becomes one strided copy per plane.
#include <utility>

#include "../../abi/error.h"
#include "../images/image.h"
#include "../images/image_region.h"
#include "command_list.h"

namespace anyzero {
namespace {

bool same_memory(const ImageView& a, const ImageView& b) {
  return a.planes[0].base == b.planes[0].base && a.planes[0].row_pitch == b.planes[0].row_pitch && a.slice_pitch == b.slice_pitch;
}

}  // namespace

ze_result_t CommandList::appendImageCopy(Image& to, Image& from, Event* signal, uint32_t n_waits, Event* const* waits) {
  return appendImageCopyRegion(to, from, nullptr, nullptr, signal, n_waits, waits);
}

ze_result_t CommandList::appendImageCopyRegion(Image& to, Image& from, const ze_image_region_t* to_region,
                                               const ze_image_region_t* from_region, Event* signal, uint32_t n_waits,
                                               Event* const* waits) {
  const ImageView& target = to.view();
  const ImageView& source = from.view();
  if (!target.format->same_elements(*source.format))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "images of layouts %s and %s have no elements in common", target.format->name,
                source.format->name);
  ImageRegion there;
  ImageRegion here;
  if (ze_result_t result = read_region(target, to_region, &there)) return result;
  if (ze_result_t result = read_region(source, from_region, &here)) return result;
  if (!there.same_extent(here))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the destination is %llu×%llu×%llu, the source is %llu×%llu×%llu",
                static_cast<unsigned long long>(there.width), static_cast<unsigned long long>(there.height),
                static_cast<unsigned long long>(there.slices), static_cast<unsigned long long>(here.width),
                static_cast<unsigned long long>(here.height), static_cast<unsigned long long>(here.slices));
  if (there.empty()) return appendBarrier(signal, n_waits, waits);
  if (same_memory(target, source) && there.meets(here))
    return fail(ZE_RESULT_ERROR_OVERLAPPING_REGIONS, "source and destination overlap in the same image");

  BoxCopy copies[kMaxPlanes];
  for (uint32_t i = 0; i < target.format->n_planes; ++i)
    copies[i] = plane_copy(target.format->planes[i], there, plane_box(target, i, there), plane_box(source, i, here));
  return append_boxes(copies, target.format->n_planes, &to, &from, signal, n_waits, waits);
}

ze_result_t CommandList::appendImageCopyToMemory(void* to, Image& from, const ze_image_region_t* region, Event* signal,
                                                 uint32_t n_waits, Event* const* waits) {
  return appendImageCopyToMemoryExt(to, from, region, 0, 0, signal, n_waits, waits);
}

ze_result_t CommandList::appendImageCopyFromMemory(Image& to, const void* from, const ze_image_region_t* region, Event* signal,
                                                   uint32_t n_waits, Event* const* waits) {
  return appendImageCopyFromMemoryExt(to, from, region, 0, 0, signal, n_waits, waits);
}

ze_result_t CommandList::appendImageCopyToMemoryExt(void* to, Image& from, const ze_image_region_t* region, uint32_t row_pitch,
                                                    uint32_t slice_pitch, Event* signal, uint32_t n_waits, Event* const* waits) {
  BoxCopy copies[kMaxPlanes];
  uint32_t count;
  if (ze_result_t result = copies_from_memory(from.view(), region, to, row_pitch, slice_pitch, copies, &count)) return result;
  if (count == 0) return appendBarrier(signal, n_waits, waits);
  for (uint32_t i = 0; i < count; ++i) std::swap(copies[i].to, copies[i].from);
  return append_boxes(copies, count, &from, nullptr, signal, n_waits, waits);
}

ze_result_t CommandList::appendImageCopyFromMemoryExt(Image& to, const void* from, const ze_image_region_t* region,
                                                      uint32_t row_pitch, uint32_t slice_pitch, Event* signal, uint32_t n_waits,
                                                      Event* const* waits) {
  BoxCopy copies[kMaxPlanes];
  uint32_t count;
  if (ze_result_t result = copies_from_memory(to.view(), region, from, row_pitch, slice_pitch, copies, &count)) return result;
  if (count == 0) return appendBarrier(signal, n_waits, waits);
  return append_boxes(copies, count, &to, nullptr, signal, n_waits, waits);
}

}  // namespace anyzero
