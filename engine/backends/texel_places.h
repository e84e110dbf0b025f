// The texels that a read of an image takes its value from, a work-item at a time: addressing modes and filters by the formulas of
// OpenCL's specification. What kernels run is in cpu/image_filter.h; a test compares the two.
#pragma once

#include <cstdint>

#include "image_view.h"

namespace anyzero {

struct TexelPlace {
  int32_t x, y, z;
};

// None where the read gives the border colour.
struct TexelPlaces {
  TexelPlace at[8] = {};
  uint32_t count = 0;
};

// A read by a work-item of a kernel.
struct TexelRead {
  const SamplerState* sampler;  // nullptr without one, or where the image has its own
  uint32_t coordinates[3];
  bool floats;  // the coordinates are floats, else integers
  bool blends;  // the results are floats, so that a linear sampler blends
};

// Hardware blends with eight bits of a fraction: a texel whose weight is less than one of them along an axis does not count.
TexelPlaces places_of(const ImageView& image, const TexelRead& read);
// The texel that a write goes to; none outside of the image.
TexelPlaces place_of_write(const ImageView& image, const uint32_t* coordinates);

// Calls `visit` with the address and the number of bytes of a texel in each plane.
template <class Visit>
void each_element(const ImageView& image, const TexelPlace& at, Visit&& visit) {
  for (uint32_t i = 0; i < image.format->n_planes; ++i) {
    const ImagePlane& plane = image.format->planes[i];
    const auto x = static_cast<size_t>(at.x) / plane.across, y = static_cast<size_t>(at.y) / plane.down;
    visit(image.planes[i].base + static_cast<size_t>(at.z) * image.slice_pitch + y * image.planes[i].row_pitch + x * plane.bytes,
          size_t{plane.bytes});
  }
}

}  // namespace anyzero
