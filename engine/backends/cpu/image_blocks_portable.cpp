#define ANYZERO_VECTOR_BYTES 16
#include "image_blocks.h"

namespace anyzero {

const ImageCode& ImageCode::portable() {
  static constexpr ImageCode code = {read_image, write_image};
  return code;
}

}  // namespace anyzero
