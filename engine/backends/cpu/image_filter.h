// Converts coordinates to pixels: addressing modes and filters, by the formulas of OpenCL's specification.
//
// Compiled once for each instruction set; see image_vectors.h.
#include "image_lanes.h"

namespace anyzero {
namespace {

// The sampled dimensions of an image, and its layers, which are selected and never blended.
struct Geometry {
  explicit Geometry(const ImageView& view) {
    axes = view.type == ZE_IMAGE_TYPE_3D ? 3 : view.type == ZE_IMAGE_TYPE_2D || view.type == ZE_IMAGE_TYPE_2DARRAY ? 2 : 1;
    layered = view.type == ZE_IMAGE_TYPE_1DARRAY || view.type == ZE_IMAGE_TYPE_2DARRAY;
    // A coordinate has at most 31 bits, so pixels beyond cannot be addressed.
    size[0] = static_cast<int32_t>(view.width < INT32_MAX ? view.width : INT32_MAX);
    size[1] = static_cast<int32_t>(view.height);
    size[2] = static_cast<int32_t>(view.slices);
  }

  uint32_t axes;
  bool layered;
  int32_t size[3];  // the last is the number of layers, if any
};

// The two neighbours along one axis. Neighbours outside the image get position 0 and an empty mask.
struct Pair {
  Ints at[2];
  Words inside[2];
  Floats toward_second;
};

struct Floor {
  Ints whole;
  Floats part;
};

// Coordinates beyond ±2^30 have no fraction and are outside of every image; NaN becomes one of them.
ANYZERO_LANE_CODE Floats bounded(const Floats& value) { return least(greatest(value, all(-0x1p30f)), all(0x1p30f)); }

ANYZERO_LANE_CODE Floor floor_of(const Floats& given) {
  Floats value = bounded(given), down = rounded_down(value);
  return {__builtin_convertvector(down, Ints), value - down};
}

// rint: ties to even.
ANYZERO_LANE_CODE Ints rounded(const Floats& value) {
  Floor floor = floor_of(value);
  Ints up = (floor.part > 0.5f) | ((floor.part == 0.5f) & ((floor.whole & 1) != 0));
  return floor.whole - up;
}

ANYZERO_LANE_CODE Ints within(const Ints& value, int32_t high) { return least(greatest(value, Ints{}), all(high)); }

ANYZERO_LANE_CODE Words in_range(const Ints& value, int32_t size) {
  return as_words(reinterpret_cast<Ints>(as_words(value) < static_cast<uint32_t>(size)));
}

// Coordinates along one axis. `scale` converts them to pixels; repeating modes need normalised coordinates instead.
struct Side {
  Side() = default;
  ANYZERO_LANE_CODE Side(const SamplerState& sampler, int32_t size)
      : mode(sampler.address_mode), size(size), length(static_cast<float>(size)) {
    bool repeats = mode == ZE_SAMPLER_ADDRESS_MODE_REPEAT || mode == ZE_SAMPLER_ADDRESS_MODE_MIRROR;
    has_border = !repeats && mode != ZE_SAMPLER_ADDRESS_MODE_CLAMP;
    scale = repeats == sampler.normalized ? 1 : repeats ? 1 / length : length;
  }

  // Repeating modes: the coordinate within one repetition of the image.
  ANYZERO_LANE_CODE Floats repeated(const Floats& s) const { return floor_of(s).part * length; }
  ANYZERO_LANE_CODE Floats mirrored(const Floats& given) const {
    Floats s = bounded(given);
    Floats distance = s - 2.0f * to_floats(rounded(0.5f * s));
    return as_floats(as_words(distance) & 0x7fffffff) * length;
  }

  ze_sampler_address_mode_t mode;
  int32_t size;
  bool has_border;
  float length;
  float scale;
};

// The nearest pixel along one axis; clears `inside` for lanes outside of the image.
ANYZERO_LANE_CODE Ints nearest_place(const Side& side, const Floats& coordinate, Words* inside) {
  const int32_t last = side.size - 1;
  Floats scaled = coordinate * side.scale;
  if (side.mode == ZE_SAMPLER_ADDRESS_MODE_REPEAT) {
    Ints whole = floor_of(side.repeated(scaled)).whole;
    return within(whole > last ? whole - side.size : whole, last);
  }
  if (side.mode == ZE_SAMPLER_ADDRESS_MODE_MIRROR) return within(floor_of(side.mirrored(scaled)).whole, last);
  Ints whole = floor_of(scaled).whole;
  if (side.mode == ZE_SAMPLER_ADDRESS_MODE_CLAMP) return within(whole, last);
  Words mask = in_range(whole, side.size);
  *inside &= mask;
  return whole & as_ints(mask);
}

// The same for integers, which may not fit a float.
ANYZERO_LANE_CODE Ints nearest_place(ze_sampler_address_mode_t mode, int32_t size, const Ints& coordinate, Words* inside) {
  if (mode == ZE_SAMPLER_ADDRESS_MODE_REPEAT) {
    Ints rest = coordinate % size;
    return rest < 0 ? rest + size : rest;
  }
  if (mode == ZE_SAMPLER_ADDRESS_MODE_MIRROR) {
    Ints to;
    for (uint32_t i = 0; i < kBlock; ++i) {
      int64_t rest = coordinate[i] % (int64_t{2} * size);
      rest = rest < 0 ? -1 - rest : rest;
      to[i] = static_cast<int32_t>(rest < size ? rest : int64_t{2} * size - 1 - rest);
    }
    return to;
  }
  if (mode == ZE_SAMPLER_ADDRESS_MODE_CLAMP) return within(coordinate, size - 1);
  Words mask = in_range(coordinate, size);
  *inside &= mask;
  return coordinate & as_ints(mask);
}

// The two pixels to blend along one axis.
ANYZERO_LANE_CODE Pair linear_places(const Side& side, const Floats& coordinate) {
  const int32_t last = side.size - 1;
  Floats scaled = coordinate * side.scale;
  if (side.mode == ZE_SAMPLER_ADDRESS_MODE_REPEAT) scaled = side.repeated(scaled);
  if (side.mode == ZE_SAMPLER_ADDRESS_MODE_MIRROR) scaled = side.mirrored(scaled);
  Floor floor = floor_of(scaled - 0.5f);
  Ints first = floor.whole, second = floor.whole + 1;
  if (side.mode == ZE_SAMPLER_ADDRESS_MODE_REPEAT) {
    first = first < 0 ? first + side.size : first;
    second = second > last ? second - side.size : second;
  }
  if (side.has_border) {
    Words first_inside = in_range(first, side.size), second_inside = in_range(second, side.size);
    return {{first & as_ints(first_inside), second & as_ints(second_inside)}, {first_inside, second_inside}, floor.part};
  }
  const Words everywhere = all(UINT32_MAX);
  return {{within(first, last), within(second, last)}, {everywhere, everywhere}, floor.part};
}

// Four channels of a block, and the part of each lane's weight that was inside the image.
struct Blend {
  Floats channel[4];
  Floats coverage;
};

// The corners around a position, each with its weight.
template <uint32_t kAxes>
ANYZERO_LANE_CODE Blend blend_corners(const ImageView& view, const Texel& texel, bool near, const Pair* pairs, const Ints& layer) {
  Blend blend = {};
  for (uint32_t corner = 0; corner < 1u << kAxes; ++corner) {
    Place place;
    place.y = Ints{};
    place.z = layer;
    Floats weight = all(1.0f);
    Words inside = all(UINT32_MAX);
    auto turn = [&](uint32_t axis, Ints* to) __attribute__((always_inline)) {
      const Pair& pair = pairs[axis];
      uint32_t which = corner >> axis & 1;
      *to = pair.at[which];
      weight *= which ? pair.toward_second : 1 - pair.toward_second;
      inside &= pair.inside[which];
    };
    turn(0, &place.x);
    if (kAxes > 1) turn(1, &place.y);
    if (kAxes > 2) turn(2, &place.z);
    Raw raw;
    Words value[4];
    load(view, place, near, &raw);
    decode(texel, raw, place.x, value);
    blend.coverage += as_floats(as_words(weight) & inside);
    // The mask applies to the value, not to the weight: the pixel that replaces a missing one may be infinite.
#pragma GCC unroll 4
    for (uint32_t c = 0; c < 4; ++c) {
      if (c == texel.n_channels) break;
      blend.channel[c] += weight * as_floats(value[c] & inside);
    }
  }
  return blend;
}

// The common case: two dimensions, four channels of 8 bit UNORM, adjacent neighbours. The image is at least two pixels wide.
template <bool kBorder>
ANYZERO_LANE_CODE Blend blend_rgba8(const ImageView::Plane& plane, int32_t width, const Pair& x, const Pair& y) {
  Blend sum = {};
  auto add = [&](const Words& texel, const Floats& full_weight, const Words& inside) __attribute__((always_inline)) {
    // No pixel is infinite here, so the mask can apply to the weight.
    Floats weight = kBorder ? as_floats(as_words(full_weight) & inside) : full_weight;
    if (kBorder) sum.coverage += weight;
    sum.channel[0] += weight * to_floats(as_ints(texel & 0xff));
    sum.channel[1] += weight * to_floats(as_ints(texel >> 8 & 0xff));
    sum.channel[2] += weight * to_floats(as_ints(texel >> 16 & 0xff));
    sum.channel[3] += weight * to_floats(as_ints(texel >> 24));
  };
  // At the right edge the pair begins one pixel earlier. If both neighbours are the same pixel, one half serves as both.
  const Ints begin = least(x.at[0], all(width - 2));
  const Ints first_is_second = x.at[0] != begin, second_is_first = x.at[1] == begin;
  const Floats right = x.toward_second, left = 1 - right;
  const Ints pitch = all(static_cast<int32_t>(plane.row_pitch)), column = begin << 2;
  const Offsets<int32_t> upper(y.at[0] * pitch + column), lower(y.at[1] * pitch + column);
  auto row = [&](const Offsets<int32_t>& at, const Floats& down, const Words& inside) __attribute__((always_inline)) {
    Words first, second;
    load_pairs(plane.base, at, &first, &second);
    add(first_is_second ? second : first, left * down, x.inside[0] & inside);
    add(second_is_first ? first : second, right * down, x.inside[1] & inside);
  };
  row(upper, 1 - y.toward_second, y.inside[0]);
  row(lower, y.toward_second, y.inside[1]);
  // As in normalised().
#pragma GCC unroll 4
  for (Floats& channel : sum.channel) {
    channel *= 1.0f / 256;
    channel += channel * (1.0f / 255);
  }
  if (!kBorder) sum.coverage = all(1.0f);
  return sum;
}

}  // namespace
}  // namespace anyzero
