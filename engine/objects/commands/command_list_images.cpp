// Copies with images: each becomes one strided copy per plane.
#include <utility>

#include "../../abi/error.h"
#include "../images/image.h"
#include "command_list.h"

namespace anyzero {
namespace {

// A region of an image of any type: array levels are slices, and axes that it lacks have the length 1.
struct Region {
  uint64_t x;
  uint64_t y;
  uint64_t z;
  uint64_t width;
  uint64_t height;
  uint64_t slices;

  bool empty() const { return width == 0 || height == 0 || slices == 0; }
  bool same_extent(const Region& other) const { return width == other.width && height == other.height && slices == other.slices; }
  bool meets(const Region& other) const {
    return x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height &&
           z < other.z + other.slices && other.z < z + slices;
  }
};

// `step`: the pixels along this axis that share an element. Only a region that ends at the edge of the image may cut an element.
ze_result_t check_axis(char axis, uint64_t origin, uint64_t extent, uint64_t size, uint64_t step) {
  using ull = unsigned long long;
  if (origin + extent > size)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the region reaches from %llu to %llu along axis %c, the image ends at %llu",
                ull{origin}, ull{origin + extent}, axis, ull{size});
  if (origin % step || (extent % step && origin + extent != size))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the region from %llu to %llu along axis %c cuts elements that %llu pixels share",
                ull{origin}, ull{origin + extent}, axis, ull{step});
  return ZE_RESULT_SUCCESS;
}

ze_result_t read_region(const ImageView& view, const ze_image_region_t* given, Region* region) {
  *region = {0, 0, 0, view.width, view.height, view.slices};
  if (!given) return ZE_RESULT_SUCCESS;

  bool line = view.type == ZE_IMAGE_TYPE_1D || view.type == ZE_IMAGE_TYPE_BUFFER;
  bool lines = view.type == ZE_IMAGE_TYPE_1DARRAY;
  bool has_z = view.type == ZE_IMAGE_TYPE_2DARRAY || view.type == ZE_IMAGE_TYPE_3D;
  // Programs leave 0 in the extents of axes that the image does not have.
  uint64_t height = line && given->height == 0 ? 1 : given->height;
  uint64_t depth = !has_z && given->depth == 0 ? 1 : given->depth;
  uint64_t across = 1;
  uint64_t down = 1;
  for (uint32_t i = 0; i < view.format->n_planes; ++i) {
    if (view.format->planes[i].across > across) across = view.format->planes[i].across;
    if (view.format->planes[i].down > down) down = view.format->planes[i].down;
  }
  if (ze_result_t result = check_axis('x', given->originX, given->width, view.width, across)) return result;
  if (ze_result_t result = check_axis('y', given->originY, height, lines ? view.slices : view.height, lines ? 1 : down))
    return result;
  if (ze_result_t result = check_axis('z', given->originZ, depth, lines ? 1 : view.slices, 1)) return result;

  if (lines)
    *region = {given->originX, 0, given->originY, given->width, 1, height};
  else
    *region = {given->originX, given->originY, given->originZ, given->width, height, depth};
  return ZE_RESULT_SUCCESS;
}

Box plane_box(const ImageView& view, uint32_t index, const Region& region) {
  const ImagePlane& plane = view.format->planes[index];
  const ImageView::Plane& at = view.planes[index];
  return {at.base + region.z * view.slice_pitch + region.y / plane.down * at.row_pitch + region.x / plane.across * plane.bytes,
          at.row_pitch, view.slice_pitch};
}

BoxCopy plane_copy(const ImagePlane& plane, const Region& region, const Box& to, const Box& from) {
  return {to, from, plane.columns(region.width) * plane.bytes, plane.rows(region.height), region.slices};
}

// The copies from `memory` into a region of the image, none if it is empty; a pitch of 0 means contiguous rows or slices.
ze_result_t from_memory(const ImageView& view, const ze_image_region_t* given, const void* memory, uint32_t row_pitch,
                        uint32_t slice_pitch, BoxCopy* copies, uint32_t* count) {
  Region region;
  if (ze_result_t result = read_region(view, given, &region)) return result;
  *count = region.empty() ? 0 : view.format->n_planes;
  if (*count == 0) return ZE_RESULT_SUCCESS;
  SliceLayout layout;
  if (row_pitch == 0)
    layout = lay_out(*view.format, region.width, region.height, 1);
  else if (!lay_out_pitched(*view.format, region.width, region.height, row_pitch, &layout))
    return fail(ZE_RESULT_ERROR_INVALID_SIZE, "rows of %llu pixels do not fit a row pitch of %u bytes",
                static_cast<unsigned long long>(region.width), row_pitch);
  // The slice pitch of a single slice is irrelevant.
  if (slice_pitch != 0 && slice_pitch < layout.bytes && region.slices > 1)
    return fail(ZE_RESULT_ERROR_INVALID_SIZE, "slices of %zu bytes do not fit a slice pitch of %u bytes", layout.bytes,
                slice_pitch);

  auto* base = static_cast<unsigned char*>(const_cast<void*>(memory));
  for (uint32_t i = 0; i < view.format->n_planes; ++i) {
    Box box{base + layout.offset[i], layout.row_pitch[i], slice_pitch ? slice_pitch : layout.bytes};
    copies[i] = plane_copy(view.format->planes[i], region, plane_box(view, i, region), box);
  }
  return ZE_RESULT_SUCCESS;
}

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
  Region there;
  Region here;
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
  if (ze_result_t result = from_memory(from.view(), region, to, row_pitch, slice_pitch, copies, &count)) return result;
  if (count == 0) return appendBarrier(signal, n_waits, waits);
  for (uint32_t i = 0; i < count; ++i) std::swap(copies[i].to, copies[i].from);
  return append_boxes(copies, count, &from, nullptr, signal, n_waits, waits);
}

ze_result_t CommandList::appendImageCopyFromMemoryExt(Image& to, const void* from, const ze_image_region_t* region,
                                                      uint32_t row_pitch, uint32_t slice_pitch, Event* signal, uint32_t n_waits,
                                                      Event* const* waits) {
  BoxCopy copies[kMaxPlanes];
  uint32_t count;
  if (ze_result_t result = from_memory(to.view(), region, from, row_pitch, slice_pitch, copies, &count)) return result;
  if (count == 0) return appendBarrier(signal, n_waits, waits);
  return append_boxes(copies, count, &to, nullptr, signal, n_waits, waits);
}

}  // namespace anyzero
