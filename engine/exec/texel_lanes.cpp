#include "texel_lanes.h"

namespace anyzero {

uint64_t extent(const ImageView& image, unsigned i) {
  const bool lines = image.type == ZE_IMAGE_TYPE_1D || image.type == ZE_IMAGE_TYPE_1DARRAY || image.type == ZE_IMAGE_TYPE_BUFFER;
  if (i == 0) return image.width;
  return i == 1 && !lines ? image.height : image.slices;
}

std::string size_text(const ImageView& image, unsigned coordinates) {
  std::string text;
  for (unsigned i = 0; i < coordinates; ++i) text += (i ? " × " : "") + std::to_string(extent(image, i));
  return text + " texels";
}

}  // namespace anyzero
