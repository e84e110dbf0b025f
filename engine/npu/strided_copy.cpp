#include "strided_copy.h"

#include <cstring>

namespace anyzero {

namespace {

constexpr uint32_t kMostDims = 8;

// Calls `row(packed offset, strided offset)` for each row: a contiguous run, or a line of single elements.
template <class Row>
void each_row(const StridedBox& box, uint32_t outer, size_t row_bytes, Row&& row) {
  int64_t at[kMostDims] = {};
  for (uint32_t i = 0; i < outer; ++i)
    if (box.dims[i] == 0) return;
  for (size_t packed = 0;; packed += row_bytes) {
    size_t strided = 0;
    for (uint32_t i = 0; i < outer; ++i) strided += static_cast<size_t>(at[i]) * box.strides[i];
    row(packed, strided);
    uint32_t i = outer;
    while (i > 0 && ++at[i - 1] == box.dims[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

template <bool kGather, size_t kElement>
void line(unsigned char* packed, unsigned char* strided, int64_t count, uint32_t stride) {
  for (int64_t i = 0; i < count; ++i, packed += kElement, strided += stride)
    std::memcpy(kGather ? packed : strided, kGather ? strided : packed, kElement);
}

template <bool kGather>
void move(unsigned char* packed, unsigned char* strided, const StridedBox& box) {
  uint32_t outer = box.rank;
  size_t piece = box.element;
  while (outer > 0 && (box.strides[outer - 1] == piece || box.dims[outer - 1] == 1))
    piece *= static_cast<size_t>(box.dims[--outer]);
  if (piece == 0) return;
  if (piece > box.element || outer == 0) {
    return each_row(box, outer, piece, [&](size_t p, size_t s) {
      std::memcpy(kGather ? packed + p : strided + s, kGather ? strided + s : packed + p, piece);
    });
  }
  const int64_t count = box.dims[outer - 1];
  const uint32_t stride = box.strides[outer - 1];
  each_row(box, outer - 1, static_cast<size_t>(count) * box.element, [&](size_t p, size_t s) {
    switch (box.element) {
      case 1:
        return line<kGather, 1>(packed + p, strided + s, count, stride);
      case 2:
        return line<kGather, 2>(packed + p, strided + s, count, stride);
      case 4:
        return line<kGather, 4>(packed + p, strided + s, count, stride);
      default:
        return line<kGather, 8>(packed + p, strided + s, count, stride);
    }
  });
}

}  // namespace

void gather(unsigned char* packed, const unsigned char* strided, const StridedBox& box) {
  move<true>(packed, const_cast<unsigned char*>(strided), box);
}

void scatter(unsigned char* strided, const unsigned char* packed, const StridedBox& box) {
  move<false>(const_cast<unsigned char*>(packed), strided, box);
}

}  // namespace anyzero
