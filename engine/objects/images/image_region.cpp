#include "image_region.h"

#include "../../abi/error.h"

namespace anyzero {

namespace {

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

}  // namespace

ze_result_t read_region(const ImageView& view, const ze_image_region_t* given, ImageRegion* region) {
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

Box plane_box(const ImageView& view, uint32_t index, const ImageRegion& region) {
  const ImagePlane& plane = view.format->planes[index];
  const ImageView::Plane& at = view.planes[index];
  return {at.base + region.z * view.slice_pitch + region.y / plane.down * at.row_pitch + region.x / plane.across * plane.bytes,
          at.row_pitch, view.slice_pitch};
}

BoxCopy plane_copy(const ImagePlane& plane, const ImageRegion& region, const Box& to, const Box& from) {
  return {to, from, plane.columns(region.width) * plane.bytes, plane.rows(region.height), region.slices};
}

ze_result_t copies_from_memory(const ImageView& view, const ze_image_region_t* given, const void* memory, uint32_t row_pitch,
                               uint32_t slice_pitch, BoxCopy* copies, uint32_t* count) {
  ImageRegion region;
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

}  // namespace anyzero
