// Reads and writes in blocks of lanes, between a kernel's arrays and the image.
//
// Compiled once for each instruction set; see image_vectors.h.
#include "image_access.h"
#include "image_filter.h"

namespace anyzero {
namespace {

constexpr uint32_t kMostLanes = 64;
constexpr uint64_t kWholeBlock = (uint64_t{1} << kBlock) - 1;

uint64_t lanes_of(uint32_t lanes, uint64_t mask) { return lanes < kMostLanes ? mask & ((uint64_t{1} << lanes) - 1) : mask; }

// Loads a block's part of a row. A partial last block is padded with zeros.
ANYZERO_LANE_CODE Words read_row(const void* row, uint32_t at, uint32_t lanes) {
  Words value = {};
  const auto* from = static_cast<const unsigned char*>(row) + size_t{4} * at;
  if (lanes - at >= kBlock) {
    std::memcpy(&value, from, sizeof value);
  } else {
    std::memcpy(&value, from, size_t{4} * (lanes - at));
  }
  return value;
}

ANYZERO_LANE_CODE void write_row(uint32_t* row, uint64_t mask, const Words& value) {
  if ((mask & kWholeBlock) == kWholeBlock) {
    std::memcpy(row, &value, sizeof value);
  } else {
    for (uint32_t i = 0; i < kBlock; ++i)
      if (mask >> i & 1) row[i] = value[i];
  }
}

// The state of a read that is common to all lanes.
struct Reading {
  ANYZERO_LANE_CODE Reading(const ImageView& view, const SamplerState* given, bool float_coords, TexelKind kind)
      : view(view), geometry(view), texel(Texel::of(view, kind, &storage)), near(is_near(view)), float_coords(float_coords) {
    if (!given && view.sampled && float_coords) given = &view.sampler;
    sampled = given != nullptr;
    if (given) sampler = *given;
    linear = sampler.filter_mode == ZE_SAMPLER_FILTER_MODE_LINEAR && kind == TexelKind::Float;
    by_integers = !float_coords && !linear && !sampler.normalized;
    if (!by_integers)
      for (uint32_t axis = 0; axis < geometry.axes; ++axis) sides[axis] = Side(sampler, geometry.size[axis]);
    rgba8 = view.type == ZE_IMAGE_TYPE_2D && near && view.desc.layout == ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8 &&
            view.desc.type == ZE_IMAGE_FORMAT_TYPE_UNORM && !view.srgb && view.width >= 2 &&
            sampler.address_mode != ZE_SAMPLER_ADDRESS_MODE_REPEAT;
  }

  ANYZERO_LANE_CODE Floats floats(const Words& row) const { return float_coords ? as_floats(row) : to_floats(as_ints(row)); }

  const ImageView& view;
  const Geometry geometry;
  Texel storage;
  const Texel& texel;
  const bool near;
  const bool float_coords;
  SamplerState sampler;
  Side sides[3];
  bool sampled;
  bool linear;
  bool by_integers;
  bool rgba8;
};

// One block's part of the kernel's arrays.
struct Block {
  uint32_t at;
  uint32_t lanes;
  uint64_t mask;
  const uint32_t* coords;
  uint32_t* texel;

  ANYZERO_LANE_CODE Words row(uint32_t i) const { return read_row(coords + i * lanes, at, lanes); }
  ANYZERO_LANE_CODE void put(uint32_t value, const Words& result) const { write_row(texel + value * lanes + at, mask, result); }
};

// The layer of an array; a sampler clamps it to the existing ones.
ANYZERO_LANE_CODE Ints pick_layer(const Reading& reading, const Words& row, Words* inside) {
  const int32_t layers = reading.geometry.size[2];
  Ints wanted = reading.float_coords ? rounded(as_floats(row)) : as_ints(row);
  if (reading.sampled) return within(wanted, layers - 1);
  Words mask = in_range(wanted, layers);
  *inside &= mask;
  return wanted & as_ints(mask);
}

ANYZERO_LANE_CODE void put(const Block& block, const Texel& texel, const Blend& blend) {
  if (texel.in_order) {
#pragma GCC unroll 4
    for (uint32_t value = 0; value < 4; ++value) block.put(value, as_words(blend.channel[value]));
  } else {
    // In the order of Texel's sources.
    const Floats found[] = {blend.channel[0], blend.channel[1], blend.channel[2], blend.channel[3],
                            Floats{},         all(1.0f),        blend.coverage};
    for (uint32_t value = 0; value < 4; ++value) block.put(value, as_words(found[texel.source[value]]));
  }
}

template <uint32_t kAxes>
ANYZERO_LANE_CODE void read_linear(const Reading& reading, const Block& block) {
  const Geometry& geometry = reading.geometry;
  const Texel& texel = reading.texel;
  Pair pairs[kAxes];
#pragma GCC unroll 3
  for (uint32_t axis = 0; axis < kAxes; ++axis) pairs[axis] = linear_places(reading.sides[axis], reading.floats(block.row(axis)));
  Words inside = {};
  const Ints layer = geometry.layered ? pick_layer(reading, block.row(kAxes), &inside) : Ints{};
  put(block, texel, blend_corners<kAxes>(reading.view, texel, reading.near, pairs, layer));
}

template <bool kBorder>
ANYZERO_LANE_CODE void read_rgba8(const Reading& reading, const Block& block) {
  const Pair x = linear_places(reading.sides[0], reading.floats(block.row(0)));
  const Pair y = linear_places(reading.sides[1], reading.floats(block.row(1)));
  put(block, reading.texel, blend_rgba8<kBorder>(reading.view.planes[0], reading.geometry.size[0], x, y));
}

template <uint32_t kAxes>
ANYZERO_LANE_CODE void read_nearest(const Reading& reading, const Block& block) {
  const Geometry& geometry = reading.geometry;
  const Texel& texel = reading.texel;
  Words inside = all(UINT32_MAX);
  auto along = [&](uint32_t axis) __attribute__((always_inline)) {
    const int32_t size = geometry.size[axis];
    return reading.by_integers ? nearest_place(reading.sampler.address_mode, size, as_ints(block.row(axis)), &inside)
                               : nearest_place(reading.sides[axis], reading.floats(block.row(axis)), &inside);
  };
  Place place;
  place.x = along(0);
  place.y = kAxes > 1 ? along(1) : Ints{};
  place.z = kAxes > 2 ? along(2) : geometry.layered ? pick_layer(reading, block.row(kAxes), &inside) : Ints{};
  Raw raw;
  load(reading.view, place, reading.near, &raw);
  // In the order of Texel's sources.
  Words found[7];
  decode(texel, raw, place.x, found);
  if (texel.in_order) {
#pragma GCC unroll 4
    for (uint32_t value = 0; value < 4; ++value) block.put(value, found[value] & inside);
    return;
  }
  found[Texel::kZero] = Words{};
  found[Texel::kOne] = found[Texel::kOneInside] = all(texel.one);
#pragma GCC unroll 3
  for (uint32_t value = 0; value < 3; ++value) block.put(value, found[texel.source[value]] & inside);
  block.put(3, (found[texel.source[3]] & inside) | (~inside & texel.border_alpha()));
}

using BlockCode = void (*)(const Reading& reading, const Block& block);

// Runs one of the functions above for each block.
template <BlockCode kCode>
__attribute__((noinline)) void read_blocks(const Reading& reading, uint32_t lanes, uint64_t mask, const uint32_t* coords,
                                           uint32_t* texel) {
  for (uint32_t at = 0; mask; mask >>= kBlock, at += kBlock)
    if (mask & kWholeBlock) kCode(reading, {at, lanes, mask & kWholeBlock, coords, texel});
}

void read_image(const ImageView* view, const SamplerState* sampler, uint32_t lanes, uint64_t mask, const uint32_t* coords,
                uint32_t float_coords, const float*, uint32_t* texel, uint32_t kind) {
  mask = lanes_of(lanes, mask);
  if (!mask) return;
  static constexpr decltype(&read_blocks<read_nearest<1>>) kCodes[][3] = {
      {read_blocks<read_nearest<1>>, read_blocks<read_nearest<2>>, read_blocks<read_nearest<3>>},
      {read_blocks<read_linear<1>>, read_blocks<read_linear<2>>, read_blocks<read_linear<3>>},
      {read_blocks<read_rgba8<false>>, read_blocks<read_rgba8<true>>, nullptr}};
  const Reading reading(*view, sampler, float_coords != 0, static_cast<TexelKind>(kind));
  auto* code = !reading.linear ? kCodes[0][reading.geometry.axes - 1]
               : reading.rgba8 ? kCodes[2][reading.sides[0].has_border]
                               : kCodes[1][reading.geometry.axes - 1];
  code(reading, lanes, mask, coords, texel);
}

ANYZERO_LANE_CODE unsigned char* element(const ImageView& view, uint32_t plane, int64_t x, int64_t y, int64_t z) {
  const ImagePlane& cut = view.format->planes[plane];
  const auto row = static_cast<int64_t>(view.planes[plane].row_pitch), slice = static_cast<int64_t>(view.slice_pitch);
  return view.planes[plane].base + z * slice + (cut.down == 2 ? y >> 1 : y) * row + (cut.across == 2 ? x >> 1 : x) * cut.bytes;
}

// Channels of an element that several pixels share are stored one by one, so that no pixel writes back another's old luma.
__attribute__((noinline)) void store_apart(const ImageView& view, const Texel& texel, const Words* codes, uint64_t lanes,
                                           const Place& at) {
  const bool planar = view.format->n_planes > 1;
  for (; lanes; lanes &= lanes - 1) {
    const int lane = __builtin_ctzll(lanes);
    const int32_t x = at.x[lane];
    for (uint32_t c = 0; c < texel.n_channels; ++c) {
      const Channel& channel = texel.channels[c];
      const uint32_t word = x & 1 ? channel.odd_word : channel.word, shift = x & 1 ? channel.odd_shift : channel.shift;
      unsigned char* to = element(view, planar ? word : 0, x, at.y[lane], at.z[lane]) + (planar ? 0 : word * 4) + shift / 8;
      const uint32_t code = codes[c][lane];
      std::memcpy(to, &code, channel.bits / 8);
    }
  }
}

template <uint32_t kBytes>
ANYZERO_LANE_CODE void store_elements(const ImageView& view, const Raw& raw, uint64_t lanes, const Place& at, bool near) {
  const Offsets<int32_t> offset(near ? near_offsets(view, 0, at) : Ints{});
  for (; lanes; lanes &= lanes - 1) {
    const int lane = __builtin_ctzll(lanes);
    uint32_t words[(kBytes + 3) / 4];
    for (uint32_t w = 0; w < (kBytes + 3) / 4; ++w) words[w] = raw.word[w][lane];
    unsigned char* to = near ? view.planes[0].base + offset.at[lane] : element(view, 0, at.x[lane], at.y[lane], at.z[lane]);
    std::memcpy(to, words, kBytes);
  }
}

ANYZERO_LANE_CODE void store(const ImageView& view, const Raw& raw, uint64_t lanes, const Place& at, bool near) {
  switch (view.format->planes[0].bytes) {
    case 1:
      return store_elements<1>(view, raw, lanes, at, near);
    case 2:
      return store_elements<2>(view, raw, lanes, at, near);
    case 3:
      return store_elements<3>(view, raw, lanes, at, near);
    case 4:
      return store_elements<4>(view, raw, lanes, at, near);
    case 6:
      return store_elements<6>(view, raw, lanes, at, near);
    case 8:
      return store_elements<8>(view, raw, lanes, at, near);
    case 12:
      return store_elements<12>(view, raw, lanes, at, near);
    case 16:
      return store_elements<16>(view, raw, lanes, at, near);
  }
}

void write_image(const ImageView* view, uint32_t lanes, uint64_t mask, const int32_t* coords, const uint32_t* values,
                 uint32_t kind) {
  uint64_t left = lanes_of(lanes, mask);
  if (!left) return;
  const Geometry geometry(*view);
  Texel storage;
  const Texel& texel = Texel::of(*view, static_cast<TexelKind>(kind), &storage);
  const bool apart = view->format->n_planes > 1 || texel.by_parity, near = is_near(*view);
  for (uint32_t at = 0; left; left >>= kBlock, at += kBlock) {
    uint64_t here = left & kWholeBlock;
    if (!here) continue;
    Words inside = all(UINT32_MAX);
    auto along = [&](uint32_t row, uint32_t side) __attribute__((always_inline)) {
      Ints coordinate = as_ints(read_row(coords + row * lanes, at, lanes));
      return nearest_place(ZE_SAMPLER_ADDRESS_MODE_NONE, geometry.size[side], coordinate, &inside);
    };
    Place place;
    place.x = along(0, 0);
    place.y = geometry.axes > 1 ? along(1, 1) : Ints{};
    place.z = geometry.axes > 2 || geometry.layered ? along(geometry.layered ? geometry.axes : 2, 2) : Ints{};
    here &= lanes_with(inside);
    Raw raw = {};
    Words codes[4];
    for (uint32_t c = 0; c < texel.n_channels; ++c) {
      const Channel& channel = texel.channels[c];
      Words value = texel.target[c] < 4 ? read_row(values + texel.target[c] * lanes, at, lanes) : Words{};
      codes[c] = encode(channel, value);
      if (!apart) raw.word[channel.word] |= codes[c] << channel.shift;
    }
    if (apart) {
      store_apart(*view, texel, codes, here, place);
    } else {
      store(*view, raw, here, place, near);
    }
  }
}

}  // namespace
}  // namespace anyzero
