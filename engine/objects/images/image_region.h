// A region of an image: the part that a copy reads or writes, as boxes of memory.
#pragma once

#include <cstdint>

#include "../../backends/backend.h"
#include "../../backends/image_view.h"
#include "../../exec/packet.h"

namespace anyzero {

// A region of an image of any type: array levels are slices, and axes that it lacks have the length 1.
struct ImageRegion {
  uint64_t x;
  uint64_t y;
  uint64_t z;
  uint64_t width;
  uint64_t height;
  uint64_t slices;

  bool empty() const { return width == 0 || height == 0 || slices == 0; }
  bool same_extent(const ImageRegion& other) const {
    return width == other.width && height == other.height && slices == other.slices;
  }
  bool meets(const ImageRegion& other) const {
    return x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height &&
           z < other.z + other.slices && other.z < z + slices;
  }
};

// The region that a program gives, or the whole image without one; an error if it leaves the image or cuts elements.
ze_result_t read_region(const ImageView& view, const ze_image_region_t* given, ImageRegion* region);
// Where it begins in a plane of the image.
Box plane_box(const ImageView& view, uint32_t index, const ImageRegion& region);
// The copy of a region of one plane.
BoxCopy plane_copy(const ImagePlane& plane, const ImageRegion& region, const Box& to, const Box& from);
// The copies from `memory` into a region of the image, one for each plane, none if it is empty; a pitch of 0 means contiguous rows
// or slices.
ze_result_t copies_from_memory(const ImageView& view, const ze_image_region_t* given, const void* memory, uint32_t row_pitch,
                               uint32_t slice_pitch, BoxCopy* copies, uint32_t* count);

}  // namespace anyzero
