#include "texel_places.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace anyzero {

namespace {

constexpr float kLeastWeight = 1.0F / 256;

// The positions along an axis that a read looks at: none, one, or two neighbours.
struct Along {
  int32_t at[2] = {};
  uint32_t count = 0;

  void add(int32_t place) { at[count++] = place; }
  void add_inside(int64_t place, int32_t size) {
    if (place >= 0 && place < size) add(static_cast<int32_t>(place));
  }
};

// As image_filter.h: coordinates beyond have no fraction.
float bounded(float value) { return std::clamp(value, -0x1p30F, 0x1p30F); }
float fraction(float value) { return bounded(value) - std::floor(bounded(value)); }
int64_t whole(float value) { return static_cast<int64_t>(std::floor(bounded(value))); }
int64_t within(int64_t place, int32_t size) { return std::clamp<int64_t>(place, 0, size - 1); }

struct Axis {
  Axis(const SamplerState& sampler, int32_t size) : mode(sampler.address_mode), size(size), length(static_cast<float>(size)) {
    const bool repeats = mode == ZE_SAMPLER_ADDRESS_MODE_REPEAT || mode == ZE_SAMPLER_ADDRESS_MODE_MIRROR;
    scale = repeats == sampler.normalized ? 1 : repeats ? 1 / length : length;
  }

  // The coordinate in texels; in a repeating mode within one repetition of the image.
  float scaled(float coordinate) const {
    const float value = coordinate * scale;
    if (mode == ZE_SAMPLER_ADDRESS_MODE_REPEAT) return fraction(value) * length;
    if (mode != ZE_SAMPLER_ADDRESS_MODE_MIRROR) return value;
    const float turned = bounded(value);
    return std::fabs(turned - 2 * std::nearbyint(0.5F * turned)) * length;
  }

  Along nearest(float coordinate) const {
    Along found;
    const int64_t place = whole(scaled(coordinate));
    if (mode == ZE_SAMPLER_ADDRESS_MODE_REPEAT)
      found.add_inside(within(place >= size ? place - size : place, size), size);
    else if (mode == ZE_SAMPLER_ADDRESS_MODE_MIRROR || mode == ZE_SAMPLER_ADDRESS_MODE_CLAMP)
      found.add_inside(within(place, size), size);
    else
      found.add_inside(place, size);
    return found;
  }

  Along nearest(int32_t coordinate) const {
    Along found;
    int64_t place = coordinate;
    if (mode == ZE_SAMPLER_ADDRESS_MODE_REPEAT) {
      place = place % size + (place % size < 0 ? size : 0);
    } else if (mode == ZE_SAMPLER_ADDRESS_MODE_MIRROR) {
      const int64_t rest = place % (int64_t{2} * size), folded = rest < 0 ? -1 - rest : rest;
      place = folded < size ? folded : int64_t{2} * size - 1 - folded;
    } else if (mode == ZE_SAMPLER_ADDRESS_MODE_CLAMP) {
      place = within(place, size);
    }
    found.add_inside(place, size);
    return found;
  }

  Along linear(float coordinate) const {
    const float from = scaled(coordinate) - 0.5F, weight = fraction(from);
    int64_t first = whole(from), second = first + 1;
    if (mode == ZE_SAMPLER_ADDRESS_MODE_REPEAT) {
      first = within(first < 0 ? first + size : first, size);
      second = within(second >= size ? second - size : second, size);
    } else if (mode == ZE_SAMPLER_ADDRESS_MODE_MIRROR || mode == ZE_SAMPLER_ADDRESS_MODE_CLAMP) {
      first = within(first, size);
      second = within(second, size);
    }
    Along found;
    if (1 - weight >= kLeastWeight) found.add_inside(first, size);
    if (weight >= kLeastWeight && (first != second || found.count == 0)) found.add_inside(second, size);
    return found;
  }

  ze_sampler_address_mode_t mode;
  int32_t size;
  float length;
  float scale;
};

struct Extent {
  explicit Extent(const ImageView& image) {
    const ze_image_type_t type = image.type;
    axes = type == ZE_IMAGE_TYPE_3D ? 3 : type == ZE_IMAGE_TYPE_2D || type == ZE_IMAGE_TYPE_2DARRAY ? 2 : 1;
    layered = type == ZE_IMAGE_TYPE_1DARRAY || type == ZE_IMAGE_TYPE_2DARRAY;
    size[0] = static_cast<int32_t>(std::min<uint64_t>(image.width, INT32_MAX));
    size[1] = static_cast<int32_t>(image.height);
    size[2] = static_cast<int32_t>(image.slices);
  }

  uint32_t axes;
  bool layered;
  int32_t size[3];
};

TexelPlaces all_of(const Along* along) {
  TexelPlaces found;
  for (uint32_t z = 0; z < along[2].count; ++z)
    for (uint32_t y = 0; y < along[1].count; ++y)
      for (uint32_t x = 0; x < along[0].count; ++x) found.at[found.count++] = {along[0].at[x], along[1].at[y], along[2].at[z]};
  return found;
}

constexpr Along kFirst{{}, 1};

}  // namespace

TexelPlaces places_of(const ImageView& image, const TexelRead& read) {
  const SamplerState* given = read.sampler ? read.sampler : image.sampled && read.floats ? &image.sampler : nullptr;
  const SamplerState sampler = given ? *given : SamplerState{};
  const bool linear = sampler.filter_mode == ZE_SAMPLER_FILTER_MODE_LINEAR && read.blends;
  const Extent extent(image);
  Along along[3] = {kFirst, kFirst, kFirst};
  for (uint32_t i = 0; i < extent.axes; ++i) {
    const Axis axis(sampler, extent.size[i]);
    const auto integer = static_cast<int32_t>(read.coordinates[i]);
    const float value = read.floats ? std::bit_cast<float>(read.coordinates[i]) : static_cast<float>(integer);
    if (value != value) return {};
    along[i] = linear ? axis.linear(value) : read.floats || sampler.normalized ? axis.nearest(value) : axis.nearest(integer);
  }
  if (extent.layered) {
    const uint32_t bits = read.coordinates[extent.axes];
    const float value = std::bit_cast<float>(bits);
    if (read.floats && value != value) return {};
    const int64_t wanted = read.floats ? static_cast<int64_t>(std::nearbyint(bounded(value))) : static_cast<int32_t>(bits);
    along[2] = {};
    along[2].add_inside(given ? within(wanted, extent.size[2]) : wanted, extent.size[2]);
  }
  return all_of(along);
}

TexelPlaces place_of_write(const ImageView& image, const uint32_t* coordinates) {
  return places_of(image, {nullptr, {coordinates[0], coordinates[1], coordinates[2]}, false, false});
}

}  // namespace anyzero
