// Shared headers come before the target is set.
#include <immintrin.h>

#include <cstring>
#include <utility>

#include "image_access.h"
#include "image_texel.h"

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#define ANYZERO_VECTOR_BYTES 32
#include "image_blocks.h"
#pragma GCC pop_options

namespace anyzero {

const ImageCode* ImageCode::avx2() {
  static constexpr ImageCode code = {read_image, write_image};
  __builtin_cpu_init();
  bool there = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  return there ? &code : nullptr;
}

}  // namespace anyzero
