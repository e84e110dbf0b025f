// Memory layouts of the specification's image formats. Every format is one to three planes of equally sized elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../abi/gen/ze_api.h"

namespace anyzero {

inline constexpr uint32_t kMaxPlanes = 3;

// Alignment of rows in images that the engine lays out itself.
inline constexpr size_t kRowAlignment = 64;

// The unit of copies: one pixel, or the `across` × `down` pixels that share chroma.
struct ImagePlane {
  uint8_t bytes;
  uint8_t across;
  uint8_t down;
  uint8_t channels;
  uint8_t bits[4];  // of each channel, lowest address or lowest bit first

  uint64_t columns(uint64_t width) const { return (width + across - 1) / across; }
  uint64_t rows(uint64_t height) const { return (height + down - 1) / down; }

  bool same_elements(const ImagePlane& other) const { return bytes == other.bytes && across == other.across && down == other.down; }
};

struct ImageFormat {
  enum class Family : uint8_t {
    Components,  // plain channels; the type gives their encoding
    Media,       // luma and chroma; type and swizzle are ignored
    Palette,     // media whose values are indices, so they cannot be blended
  };

  const char* name;
  Family family;
  uint8_t types;  // a bit for each ze_image_format_type_t
  uint8_t n_planes;
  ImagePlane planes[kMaxPlanes];

  bool media() const { return family != Family::Components; }
  bool allows(ze_image_format_type_t type) const { return static_cast<uint32_t>(type) < 8 && (types >> type & 1); }
  bool filterable(ze_image_format_type_t type) const;
  // sRGB is an encoding of 8 bit colours.
  bool allows_srgb(ze_image_format_type_t type) const;
  // Whether copies and views between the two are valid: each plane has the same elements.
  bool same_elements(const ImageFormat& other) const;
};

// nullptr for an unknown layout.
const ImageFormat* image_format(ze_image_format_layout_t layout);

// nullptr if the layout does not exist, cannot hold the type, or is not valid for images of that shape.
const ImageFormat* image_format(ze_image_type_t shape, const ze_image_format_t& format);

// Positions of the planes in a slice.
struct SliceLayout {
  size_t offset[kMaxPlanes];
  size_t row_pitch[kMaxPlanes];
  size_t bytes;
};

// A slice of width × height pixels whose rows are padded to a multiple of `alignment`.
SliceLayout lay_out(const ImageFormat& format, uint64_t width, uint64_t height, size_t alignment);

// The same for a given pitch of the first plane. The other planes' pitches follow from it as is usual for video: they span the same
// number of pixels. False if a row does not fit or the pitch exceeds 4 GiB.
bool lay_out_pitched(const ImageFormat& format, uint64_t width, uint64_t height, size_t row_pitch, SliceLayout* layout);

}  // namespace anyzero
