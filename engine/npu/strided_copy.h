// Copies between strided and packed memory, for strided arguments of models, which support only packed tensors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anyzero {

// A box of elements, outermost dimension first.
struct StridedBox {
  const int64_t* dims;
  const uint32_t* strides;  // in bytes
  uint32_t rank;
  uint32_t element;  // bytes
};

void gather(unsigned char* packed, const unsigned char* strided, const StridedBox& box);
void scatter(unsigned char* strided, const unsigned char* packed, const StridedBox& box);

}  // namespace anyzero
