#include "image_access.h"

#include <algorithm>
#include <cstring>

#include "image_texel.h"

namespace anyzero {
namespace {

// Calls `visit` for each active lane and row of a block: the address clamped to the image, the number of bytes inside the image,
// whether the unclamped position is inside, and the index of the value.
template <class Visit>
void each_place(const ImageView& view, uint32_t lanes, uint64_t mask, int32_t x, int32_t y, uint32_t rows, uint32_t bytes,
                Visit visit) {
  const ImagePlane& plane = view.format->planes[0];
  const int64_t width = static_cast<int64_t>(plane.columns(view.width) * plane.bytes);
  const int64_t height = static_cast<int64_t>(plane.rows(view.height));
  const int64_t last = std::max<int64_t>(width - bytes, 0);
  for (uint32_t row = 0; row < rows; ++row) {
    const int64_t wanted_row = int64_t{y} + row, found_row = std::clamp<int64_t>(wanted_row, 0, height - 1);
    unsigned char* begin = view.planes[0].base + static_cast<size_t>(found_row) * view.planes[0].row_pitch;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      if (!(mask >> lane & 1)) continue;
      const int64_t wanted = int64_t{x} + int64_t{lane} * bytes, found = std::clamp<int64_t>(wanted, 0, last);
      const bool inside = wanted == found && wanted_row == found_row && found + bytes <= width;
      visit(begin + found, static_cast<size_t>(std::min<int64_t>(bytes, width)), inside, row * lanes + lane);
    }
  }
}

const ImageCode& chosen = ImageCode::avx2() ? *ImageCode::avx2() : ImageCode::portable();

}  // namespace
}  // namespace anyzero

using namespace anyzero;

void az_image_read(const ImageView* view, const SamplerState* sampler, uint32_t lanes, uint64_t mask, const uint32_t* coords,
                   uint32_t float_coords, const float* lod, uint32_t* texel, uint32_t kind) {
  chosen.read(view, sampler, lanes, mask, coords, float_coords, lod, texel, kind);
}

void az_image_write(const ImageView* view, uint32_t lanes, uint64_t mask, const int32_t* coords, const uint32_t* texel,
                    uint32_t kind) {
  chosen.write(view, lanes, mask, coords, texel, kind);
}

uint32_t az_image_query(const ImageView* view, uint32_t what) {
  switch (what) {
    case 0:
      return static_cast<uint32_t>(view->width);
    case 1:
      return view->height;
    case 2:
      return view->type == ZE_IMAGE_TYPE_3D ? view->slices : 1;
    case 3:
      return view->type == ZE_IMAGE_TYPE_3D ? 1 : view->slices;
    case 4:
      return channel_data_type(*view);
    case 5:
      return channel_order(*view);
    case 6:
    case 7:
      return 1;
    default:
      return 0;
  }
}

void az_image_block_read(const ImageView* view, uint32_t lanes, uint64_t mask, int32_t x, int32_t y, uint32_t rows, uint32_t bytes,
                         unsigned char* data) {
  each_place(*view, lanes, mask, x, y, rows, bytes, [&](const unsigned char* place, size_t there, bool, size_t number) {
    std::memset(data + number * bytes, 0, bytes);
    std::memcpy(data + number * bytes, place, there);
  });
}

void az_image_block_write(const ImageView* view, uint32_t lanes, uint64_t mask, int32_t x, int32_t y, uint32_t rows, uint32_t bytes,
                          const unsigned char* data) {
  each_place(*view, lanes, mask, x, y, rows, bytes, [&](unsigned char* place, size_t, bool inside, size_t number) {
    if (inside) std::memcpy(place, data + number * bytes, bytes);
  });
}
