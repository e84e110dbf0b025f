#include "image_access.h"

#include "image_texel.h"

namespace anyzero {
namespace {

const ImageCode& chosen = ImageCode::avx2() ? *ImageCode::avx2() : ImageCode::portable();

}  // namespace
}  // namespace anyzero

using namespace anyzero;

void az_image_read(const ImageView* view, const Sampler::State* sampler, uint32_t lanes, uint64_t mask, const uint32_t* coords,
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
