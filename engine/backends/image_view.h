// Images and samplers as kernels and copies see them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "image_format.h"

namespace anyzero {

// Sampled bindless images have their own.
struct SamplerState {
  ze_sampler_address_mode_t address_mode = ZE_SAMPLER_ADDRESS_MODE_NONE;
  ze_sampler_filter_mode_t filter_mode = ZE_SAMPLER_FILTER_MODE_NEAREST;
  bool normalized = false;
};

// Everything that a kernel or a copy needs. Its address is the bindless handle of the image, so it does not move during its
// lifetime.
struct ImageView {
  struct Plane {
    unsigned char* base;
    size_t row_pitch;
  };

  ze_image_type_t type;
  ze_image_format_t desc;
  const ImageFormat* format;
  uint64_t width;   // in pixels, also of a buffer
  uint32_t height;  // 1 if the type has none
  uint32_t slices;  // depth or array levels; 1 if the type has neither
  Plane planes[kMaxPlanes];
  size_t slice_pitch;  // the planes of one slice are adjacent
  bool srgb;
  bool sampled;  // `sampler` is the image's own
  SamplerState sampler;
};

}  // namespace anyzero
