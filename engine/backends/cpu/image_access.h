// Reads, writes and queries of images by kernels. Compiled kernels call the az_image functions; they work on many lanes at once.
//
// Arrays hold a row of `lanes` values for each component. Lanes without a bit in `mask` are inactive, and their results stay
// unchanged. No coordinate accesses memory outside of the image: a read gives the border colour there, a write is dropped.
#pragma once

#include <cstdint>

#include "../image_view.h"

extern "C" {

// `coords` are floats if `float_coords` is set, else integers. `kind`: 0 floats, 1 signed, 2 unsigned integers. A sampled bindless
// image that is read at floats without a sampler uses its own. Images have one mip level, so `lod` has no effect.
void az_image_read(const anyzero::ImageView* view, const anyzero::SamplerState* sampler, uint32_t lanes, uint64_t mask,
                   const uint32_t* coords, uint32_t float_coords, const float* lod, uint32_t* texel, uint32_t kind);

void az_image_write(const anyzero::ImageView* view, uint32_t lanes, uint64_t mask, const int32_t* coords, const uint32_t* texel,
                    uint32_t kind);

// `what`: 0 width, 1 height, 2 depth, 3 array size, 4 SPIR-V's ImageChannelDataType, 5 its ImageChannelOrder, 6 levels, 7 samples.
uint32_t az_image_query(const anyzero::ImageView* view, uint32_t what);

// Block access to raw bytes of the first plane: `rows` rows from `y` on, with `bytes` bytes per lane from byte `x` of each row on.
// A read beyond an edge gives the value at the edge.
void az_image_block_read(const anyzero::ImageView* view, uint32_t lanes, uint64_t mask, int32_t x, int32_t y, uint32_t rows,
                         uint32_t bytes, unsigned char* data);

void az_image_block_write(const anyzero::ImageView* view, uint32_t lanes, uint64_t mask, int32_t x, int32_t y, uint32_t rows,
                          uint32_t bytes, const unsigned char* data);

}  // extern "C"

namespace anyzero {

// The same functions compiled for a specific instruction set; the ones above choose when the library is loaded.
struct ImageCode {
  decltype(&az_image_read) read;
  decltype(&az_image_write) write;

  static const ImageCode& portable();
  // nullptr on processors without AVX2.
  static const ImageCode* avx2();
};

}  // namespace anyzero
