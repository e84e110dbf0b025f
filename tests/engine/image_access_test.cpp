// What kernels read from and write to images, against a slow model: every format, type of image, addressing mode and filter, at
// random places, with memory that ends where the image and the kernel's arrays end.
#undef NDEBUG
#include "backends/cpu/image_access.h"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "image_model.h"
#include "thorough.h"

using namespace anyzero;
using namespace image_model;

namespace {

std::mt19937_64 generator(7);

uint32_t below(uint32_t limit) { return static_cast<uint32_t>(generator() % limit); }
float between(float low, float high) { return std::uniform_real_distribution<float>(low, high)(generator); }

// Memory between two pages that nobody may touch. What is in use lies at its beginning or at its end.
class Guarded {
 public:
  explicit Guarded(size_t most) : size_((most + kPage - 1) / kPage * kPage) {
    void* mapped = mmap(nullptr, size_ + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(mapped != MAP_FAILED);
    base_ = static_cast<unsigned char*>(mapped) + kPage;
    assert(mprotect(base_, size_, PROT_READ | PROT_WRITE) == 0);
  }

  unsigned char* first() const { return base_; }
  unsigned char* last(size_t bytes) const {
    assert(bytes <= size_);
    return base_ + size_ - bytes;
  }
  uint32_t* last_words(size_t words) const { return reinterpret_cast<uint32_t*>(last(4 * words)); }

 private:
  static constexpr size_t kPage = 4096;
  size_t size_;
  unsigned char* base_;
};

constexpr uint32_t kWidest = 14, kHighest = 9, kDeepest = 5;
const Guarded pixels(kWidest * kHighest * kDeepest * 16), coordinates(4 * 64 * 4), values(4 * 64 * 4);

constexpr uint32_t kLayouts = ZE_IMAGE_FORMAT_LAYOUT_32_32_32 + 1;
constexpr ze_image_type_t kTypes[] = {ZE_IMAGE_TYPE_1D,      ZE_IMAGE_TYPE_2D,      ZE_IMAGE_TYPE_3D,
                                      ZE_IMAGE_TYPE_1DARRAY, ZE_IMAGE_TYPE_2DARRAY, ZE_IMAGE_TYPE_BUFFER};

using Swizzle = ze_image_format_swizzle_t;

// Everything but the memory. False where there is no such image.
bool describe(ze_image_type_t type, uint32_t layout, uint32_t format_type, Scene* scene) {
  ImageView& view = scene->view;
  view.type = type;
  view.desc.layout = static_cast<ze_image_format_layout_t>(layout);
  view.desc.type = static_cast<ze_image_format_type_t>(format_type);
  view.format = image_format(type, view.desc);
  if (!view.format) return false;
  static constexpr int kOrders[][4] = {{0, 1, 2, 3}, {2, 1, 0, 3}, {3, 2, 1, 0}, {0, 4, 4, 5}, {4, 4, 4, 0}, {4, 4, 4, 3},
                                       {0, 0, 0, 5}, {0, 1, 2, 6}, {3, 0, 1, 2}, {7, 4, 4, 5}, {0, 4, 4, 3}};
  const int* order = kOrders[below(std::size(kOrders))];
  auto name = [&](uint32_t v) { return static_cast<Swizzle>(below(4) ? order[v] : static_cast<int>(below(8))); };
  view.desc.x = name(0), view.desc.y = name(1), view.desc.z = name(2), view.desc.w = name(3);
  bool flat = type == ZE_IMAGE_TYPE_1D || type == ZE_IMAGE_TYPE_1DARRAY || type == ZE_IMAGE_TYPE_BUFFER;
  bool deep = type == ZE_IMAGE_TYPE_3D || type == ZE_IMAGE_TYPE_1DARRAY || type == ZE_IMAGE_TYPE_2DARRAY;
  view.width = 1 + below(kWidest);
  view.height = flat ? 1 : 1 + below(kHighest);
  view.slices = deep ? 1 + below(kDeepest) : 1;
  view.srgb = view.format->allows_srgb(view.desc.type) && below(2);
  scene->model = view.format->media() ? media_model_of(view.format->name) : model_of(view.format->name);
  scene->kind = below(8) == 0                                 ? below(3)
                : view.desc.type == ZE_IMAGE_FORMAT_TYPE_UINT ? 2
                                                              : view.desc.type == ZE_IMAGE_FORMAT_TYPE_SINT;
  return true;
}

// Rows without padding, so that everything behind a pixel is another one or forbidden.
size_t lay_out(Scene* scene, unsigned char* base) {
  ImageView& view = scene->view;
  SliceLayout layout = anyzero::lay_out(*view.format, view.width, view.height, 1);
  for (uint32_t i = 0; i < view.format->n_planes; ++i) view.planes[i] = {base + layout.offset[i], layout.row_pitch[i]};
  view.slice_pitch = layout.bytes;
  scene->bytes = layout.bytes * view.slices;
  return scene->bytes;
}

void place(Scene* scene) {
  size_t bytes = lay_out(scene, nullptr);
  lay_out(scene, below(2) ? pixels.first() : pixels.last(bytes));
}

// Random bits, or numbers that a filter can blend.
void fill(const Scene& scene, bool tame) {
  for (size_t i = 0; i < scene.bytes; ++i) scene.view.planes[0].base[i] = static_cast<unsigned char>(generator());
  if (!tame || scene.type() != ZE_IMAGE_FORMAT_TYPE_FLOAT) return;
  for (int32_t z = 0; z < scene.size(2); ++z)
    for (int32_t y = 0; y < scene.size(1); ++y)
      for (int32_t x = 0; x < scene.size(0); ++x)
        for (uint32_t c = 0; c < scene.model.channels.size(); ++c)
          scene.set_code(c, x, y, z, scene.encoded(c, as_bits(between(scene.model.channels[c].bits < 16 ? 0 : -9, 9))));
}

std::vector<const ImageCode*> codes() {
  std::vector<const ImageCode*> all = {&ImageCode::portable()};
  if (ImageCode::avx2()) all.push_back(ImageCode::avx2());
  return all;
}

bool same(uint32_t a, uint32_t b, bool floats) { return a == b || (floats && std::isnan(as_float(a)) && std::isnan(as_float(b))); }

// ---- Tests
// -----------------------------------------------------------------------------------------------------------------------

constexpr uint32_t kUntouched = 0xdeadbeef;

void expect_lane(const Scene& scene, const SamplerState* sampler, bool float_coords, uint32_t lanes, uint32_t lane,
                 const uint32_t* coords, const uint32_t* texel) {
  SamplerState plain;
  const SamplerState& state = sampler ? *sampler : plain;
  bool linear = state.filter_mode == ZE_SAMPLER_FILTER_MODE_LINEAR && scene.is_float();
  Sampled sides[3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
  for (uint32_t axis = 0; axis < scene.axes(); ++axis) {
    uint32_t given = coords[axis * lanes + lane];
    if (!float_coords && !linear && !state.normalized) {
      auto at = static_cast<int32_t>(given), size = scene.size(axis);
      int32_t period = (at % (2 * size) + 2 * size) % (2 * size);
      if (state.address_mode == ZE_SAMPLER_ADDRESS_MODE_CLAMP) at = std::clamp(at, 0, size - 1);
      if (state.address_mode == ZE_SAMPLER_ADDRESS_MODE_REPEAT) at = period % size;
      if (state.address_mode == ZE_SAMPLER_ADDRESS_MODE_MIRROR) at = period < size ? period : 2 * size - 1 - period;
      sides[axis] = {at, at, 0};
    } else {
      SamplerState here = state;
      if (!linear) here.filter_mode = ZE_SAMPLER_FILTER_MODE_NEAREST;
      sides[axis] =
          sample(here, float_coords ? as_float(given) : static_cast<float>(static_cast<int32_t>(given)), scene.size(axis));
    }
  }
  if (scene.layered()) {
    uint32_t given = coords[scene.axes() * lanes + lane];
    auto layer = float_coords ? static_cast<int32_t>(std::rint(as_float(given))) : static_cast<int32_t>(given);
    if (sampler) layer = std::clamp(layer, 0, scene.size(2) - 1);
    sides[2] = {layer, layer, 0};
  }
  for (uint32_t v = 0; v < 4; ++v) {
    uint32_t got = texel[v * lanes + lane];
    if (!linear) {
      int32_t at[3] = {sides[0].first, sides[1].first, sides[2].first};
      uint32_t want = scene.value(v, at);
      bool near = scene.view.srgb && std::fabs(as_float(got) - as_float(want)) <= 1e-6f * std::fabs(as_float(want));
      assert(same(got, want, scene.is_float()) || near);
      continue;
    }
    double sum = 0, most = 0;
    for (uint32_t corner = 0; corner < 1u << scene.axes(); ++corner) {
      int32_t at[3] = {0, 0, sides[2].first};
      double weight = 1;
      for (uint32_t axis = 0; axis < scene.axes(); ++axis) {
        bool second = corner >> axis & 1;
        at[axis] = second ? sides[axis].second : sides[axis].first;
        weight *= second ? sides[axis].weight : 1 - sides[axis].weight;
      }
      double texel_value = as_float(scene.value(v, at));
      sum += weight * texel_value;
      most = std::max(most, std::fabs(texel_value));
    }
    assert(std::fabs(as_float(got) - sum) <= 1e-5 * most);
  }
}

void check_read(Scene& scene, const SamplerState* sampler, bool float_coords) {
  uint32_t lanes = below(3) ? 1 + below(64) : 8u << below(4);
  uint64_t mask = below(2) ? ~uint64_t{0} : generator() & generator();
  uint32_t *coords = coordinates.last_words(4 * lanes), *texel = values.last_words(4 * lanes);
  for (uint32_t c = 0; c < 4; ++c) {
    auto size = static_cast<float>(c < 3 ? scene.size(scene.layered() && c == scene.axes() ? 2 : c) : 1);
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      float place = between(-1.5f * size - 1, 2.5f * size + 1);
      // Centres and borders of pixels, where things change.
      if (below(3) == 0) place = std::rint(place * 2) / 2;
      if (sampler && sampler->normalized && !(scene.layered() && c == scene.axes())) place /= size;
      // So close to a border that the distance is lost in the sum.
      if (below(16) == 0) place = between(-1e-8f, 1e-8f);
      uint32_t bits = float_coords ? as_bits(place) : static_cast<uint32_t>(static_cast<int32_t>(std::floor(place)));
      coords[c * lanes + lane] = bits;
    }
  }
  for (const ImageCode* code : codes()) {
    for (uint32_t i = 0; i < 4 * lanes; ++i) texel[i] = kUntouched;
    code->read(&scene.view, sampler, lanes, mask, coords, float_coords, nullptr, texel, scene.kind);
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      if (mask >> lane & 1) {
        expect_lane(scene, sampler, float_coords, lanes, lane, coords, texel);
      } else {
        for (uint32_t v = 0; v < 4; ++v) assert(texel[v * lanes + lane] == kUntouched);
      }
    }
  }
}

// There is code for one case alone.
uint32_t rounds(ze_image_type_t type, uint32_t layout, uint32_t format_type) {
  bool common = type == ZE_IMAGE_TYPE_2D && layout == ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8 && format_type == ZE_IMAGE_FORMAT_TYPE_UNORM;
  return common ? examples(20, 60) : examples(2, 6);
}

void every_read_is_what_the_specification_says() {
  for (uint32_t layout = 0; layout < kLayouts; ++layout)
    for (uint32_t format_type = 0; format_type < 5; ++format_type)
      for (ze_image_type_t type : kTypes)
        for (uint32_t round = 0; round < rounds(type, layout, format_type); ++round) {
          Scene scene;
          if (!describe(type, layout, format_type, &scene)) continue;
          place(&scene);
          fill(scene, false);
          check_read(scene, nullptr, false);
          if (type == ZE_IMAGE_TYPE_BUFFER) continue;
          for (uint32_t mode = ZE_SAMPLER_ADDRESS_MODE_NONE; mode <= ZE_SAMPLER_ADDRESS_MODE_MIRROR; ++mode) {
            SamplerState sampler = {static_cast<ze_sampler_address_mode_t>(mode), ZE_SAMPLER_FILTER_MODE_NEAREST, below(2) == 0};
            check_read(scene, &sampler, below(4) != 0);
          }
          fill(scene, true);
          for (uint32_t mode = ZE_SAMPLER_ADDRESS_MODE_NONE; mode <= ZE_SAMPLER_ADDRESS_MODE_MIRROR; ++mode) {
            SamplerState sampler = {static_cast<ze_sampler_address_mode_t>(mode), ZE_SAMPLER_FILTER_MODE_LINEAR, below(2) == 0};
            check_read(scene, &sampler, true);
          }
        }
}

uint32_t any_value(const Scene& scene) {
  static constexpr float kNumbers[] = {0,     -0.0f,    1,          -1,    0.5f,  NAN,   INFINITY, -INFINITY, 65504,     65520,
                                       1e-8f, 0x1p-14f, 0x1.8p-25f, 1e30f, -2e9f, 65536, 0x1p-24f, 3e-5f,     0.0031308f};
  if (!scene.is_float()) return below(2) ? static_cast<uint32_t>(generator()) : below(400) - 200;
  if (below(4) == 0) return as_bits(kNumbers[below(std::size(kNumbers))]);
  if (below(4) == 0) return static_cast<uint32_t>(generator());
  return as_bits(below(2) ? between(-0.2f, 1.2f) : between(-70000, 70000));
}

void check_write(Scene& scene) {
  uint32_t lanes = below(3) ? 1 + below(64) : 8u << below(4);
  uint64_t mask = below(2) ? ~uint64_t{0} : generator() & generator();
  uint32_t* texel = values.last_words(4 * lanes);
  auto* coordinate = reinterpret_cast<int32_t*>(coordinates.last_words(4 * lanes));
  for (uint32_t i = 0; i < 4 * lanes; ++i) texel[i] = any_value(scene);
  for (uint32_t c = 0; c < 4; ++c)
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      int32_t size = c < 3 ? scene.size(scene.layered() && c == scene.axes() ? 2 : c) : 1;
      coordinate[c * lanes + lane] = static_cast<int32_t>(below(static_cast<uint32_t>(size) + 3)) - 1;
      if (below(50) == 0) coordinate[c * lanes + lane] = static_cast<int32_t>(generator());
    }
  std::vector<unsigned char> before(scene.view.planes[0].base, scene.view.planes[0].base + scene.bytes);
  for (const ImageCode* code : codes()) {
    std::memcpy(scene.view.planes[0].base, before.data(), scene.bytes);
    code->write(&scene.view, lanes, mask, coordinate, texel, scene.kind);
    std::vector<unsigned char> after(scene.view.planes[0].base, scene.view.planes[0].base + scene.bytes);
    std::memcpy(scene.view.planes[0].base, before.data(), scene.bytes);
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      int32_t at[3] = {0, 0, 0};
      for (uint32_t axis = 0; axis < scene.axes(); ++axis) at[axis] = coordinate[axis * lanes + lane];
      if (scene.layered()) at[2] = coordinate[scene.axes() * lanes + lane];
      if (!(mask >> lane & 1) || !scene.inside(at)) continue;
      for (uint32_t c = 0; c < scene.model.channels.size(); ++c) {
        uint32_t value = 0;
        for (uint32_t v = 4; v-- > 0;)
          if (scene.source(v) == static_cast<char>('0' + c)) value = texel[v * lanes + lane];
        scene.set_code(c, at[0], at[1], at[2], scene.encoded(c, value));
      }
    }
    // Channel by channel, because the bits of a NaN are unspecified.
    std::vector<unsigned char> expected(scene.view.planes[0].base, scene.view.planes[0].base + scene.bytes);
    bool may_be_nan = scene.is_float() && scene.type() == ZE_IMAGE_FORMAT_TYPE_FLOAT;
    if (!may_be_nan) assert(after == expected);
    Scene got = scene;
    for (uint32_t i = 0; i < scene.view.format->n_planes; ++i)
      got.view.planes[i].base = after.data() + (scene.view.planes[i].base - scene.view.planes[0].base);
    for (int32_t z = 0; z < scene.size(2); ++z)
      for (int32_t y = 0; y < scene.size(1); ++y)
        for (int32_t x = 0; x < scene.size(0); ++x)
          for (uint32_t c = 0; may_be_nan && c < scene.model.channels.size(); ++c)
            assert(same(got.decoded(c, got.code(c, x, y, z)), scene.decoded(c, scene.code(c, x, y, z)), true));
  }
}

void every_write_is_what_the_specification_says() {
  for (uint32_t layout = 0; layout < kLayouts; ++layout)
    for (uint32_t format_type = 0; format_type < 5; ++format_type)
      for (ze_image_type_t type : kTypes)
        for (uint32_t round = 0; round < examples(4, 12); ++round) {
          Scene scene;
          if (!describe(type, layout, format_type, &scene)) continue;
          place(&scene);
          fill(scene, false);
          check_write(scene);
        }
}

ImageView plain_view(ze_image_type_t type, ze_image_format_layout_t layout, ze_image_format_type_t format_type, uint32_t width,
                     uint32_t height, unsigned char* base) {
  Scene scene;
  scene.view.type = type;
  scene.view.desc = {
      layout, format_type, Swizzle{}, ZE_IMAGE_FORMAT_SWIZZLE_G, ZE_IMAGE_FORMAT_SWIZZLE_B, ZE_IMAGE_FORMAT_SWIZZLE_A};
  scene.view.format = image_format(type, scene.view.desc);
  scene.view.width = width, scene.view.height = height, scene.view.slices = 1;
  lay_out(&scene, base);
  return scene.view;
}

// All codes of a channel, there and back.
void every_code_survives() {
  for (auto format_type : {ZE_IMAGE_FORMAT_TYPE_UNORM, ZE_IMAGE_FORMAT_TYPE_SNORM, ZE_IMAGE_FORMAT_TYPE_FLOAT}) {
    std::vector<uint16_t> codes_in(65536), codes_out(65536);
    for (uint32_t i = 0; i < 65536; ++i) codes_in[i] = static_cast<uint16_t>(i);
    Scene scene;
    auto* base = reinterpret_cast<unsigned char*>(codes_in.data());
    scene.view = plain_view(ZE_IMAGE_TYPE_BUFFER, ZE_IMAGE_FORMAT_LAYOUT_16, format_type, 65536, 1, base);
    scene.model = model_of("16");
    ImageView out = scene.view;
    out.planes[0].base = reinterpret_cast<unsigned char*>(codes_out.data());
    for (const ImageCode* code : codes()) {
      for (uint32_t first = 0; first < 65536; first += 64) {
        uint32_t coords[4 * 64] = {}, texel[4 * 64];
        for (uint32_t i = 0; i < 64; ++i) coords[i] = first + i;
        code->read(&scene.view, nullptr, 64, ~uint64_t{0}, coords, 0, nullptr, texel, 0);
        for (uint32_t i = 0; i < 64; ++i) assert(same(texel[i], scene.decoded(0, first + i), true));
        code->write(&out, 64, ~uint64_t{0}, reinterpret_cast<int32_t*>(coords), texel, 0);
      }
      for (uint32_t i = 0; i < 65536; ++i) {
        bool nan = format_type == ZE_IMAGE_FORMAT_TYPE_FLOAT && (i & 0x7fff) > 0x7c00;
        // Two codes stand for -1.
        uint32_t want = format_type == ZE_IMAGE_FORMAT_TYPE_SNORM && i == 0x8000 ? 0x8001 : i;
        assert(codes_out[i] == want || (nan && (codes_out[i] & 0x7fff) > 0x7c00));
      }
    }
  }
}

// Between each two neighbouring numbers of a short float, where only the rule for ties decides.
void ties_go_to_even() {
  for (auto [layout, mantissa] :
       {std::pair{ZE_IMAGE_FORMAT_LAYOUT_16, 10u}, {ZE_IMAGE_FORMAT_LAYOUT_11_11_10, 6u}, {ZE_IMAGE_FORMAT_LAYOUT_11_11_10, 5u}}) {
    uint32_t element = 0;
    Scene scene;
    auto* base = reinterpret_cast<unsigned char*>(&element);
    scene.view = plain_view(ZE_IMAGE_TYPE_BUFFER, layout, ZE_IMAGE_FORMAT_TYPE_FLOAT, 1, 1, base);
    scene.model = model_of(scene.view.format->name);
    for (const ImageCode* code : codes())
      for (uint32_t i = 0; i + 1 < 31u << mantissa; ++i) {
        double middle = (short_float_value(i, mantissa) + short_float_value(i + 1, mantissa)) / 2;
        int32_t coords[4] = {};
        uint32_t bits = as_bits(static_cast<float>(middle)), texel[4] = {bits, bits, bits, bits};
        code->write(&scene.view, 1, 1, coords, texel, 0);
        for (uint32_t c = 0; c < scene.model.channels.size(); ++c) assert(scene.code(c, 0, 0, 0) == scene.encoded(c, bits));
      }
  }
}

// Whatever the coordinates are: no fault, and for the rest anything goes.
void wild_coordinates_stay_inside() {
  static constexpr float kWild[] = {NAN,     -NAN,     INFINITY, -INFINITY, 3e38f,  -3e38f,
                                    0x1p31f, -0x1p31f, 0x1p30f,  16777218,  1e-40f, -1e-40f};
  for (uint32_t round = 0; round < 4000; ++round) {
    Scene scene;
    if (!describe(kTypes[below(5)], below(kLayouts), below(5), &scene)) continue;
    place(&scene);
    SamplerState sampler = {static_cast<ze_sampler_address_mode_t>(below(5)), static_cast<ze_sampler_filter_mode_t>(below(2)),
                            below(2) == 0};
    uint32_t coords[4 * 64], texel[4 * 64];
    for (uint32_t& c : coords) c = below(2) ? as_bits(kWild[below(std::size(kWild))]) : static_cast<uint32_t>(generator());
    for (const ImageCode* code : codes()) {
      code->read(&scene.view, &sampler, 64, ~uint64_t{0}, coords, below(2), nullptr, texel, below(3));
      code->read(&scene.view, nullptr, 64, ~uint64_t{0}, coords, below(2), nullptr, texel, below(3));
      code->write(&scene.view, 64, ~uint64_t{0}, reinterpret_cast<int32_t*>(coords), texel, below(3));
    }
  }
}

// Where a filter finds exactly one pixel, its value is that pixel's to the last bit.
void centres_are_exact() {
  unsigned char codes_in[256 * 4];
  for (uint32_t i = 0; i < 256; ++i) std::memset(codes_in + 4 * i, static_cast<int>(i), 4);
  ImageView view = plain_view(ZE_IMAGE_TYPE_2D, ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UNORM, 16, 16, codes_in);
  SamplerState sampler = {ZE_SAMPLER_ADDRESS_MODE_CLAMP, ZE_SAMPLER_FILTER_MODE_LINEAR, false};
  for (const ImageCode* code : codes())
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t coords[4] = {as_bits(static_cast<float>(i % 16) + 0.5f), as_bits(static_cast<float>(i / 16) + 0.5f)}, texel[4];
      code->read(&view, &sampler, 1, 1, coords, 1, nullptr, texel, 0);
      for (uint32_t v : texel) assert(v == as_bits(static_cast<float>(i) / 255));
    }
}

// 4 GiB of addresses, of which a few pages are used.
void pixels_beyond_31_bits_are_reached() {
  constexpr uint32_t kSide = 16384;
  constexpr size_t kBytes = size_t{kSide} * kSide * 16;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  ImageView view = plain_view(ZE_IMAGE_TYPE_2D, ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, ZE_IMAGE_FORMAT_TYPE_UINT, kSide, kSide,
                              static_cast<unsigned char*>(memory));
  for (const ImageCode* code : codes()) {
    int32_t coords[4] = {kSide - 1, kSide - 1};
    uint32_t value[4] = {1, 2, 3, 4}, texel[4] = {};
    code->write(&view, 1, 1, coords, value, 2);
    assert(std::memcmp(static_cast<unsigned char*>(memory) + kBytes - 16, value, 16) == 0);
    code->read(&view, nullptr, 1, 1, reinterpret_cast<uint32_t*>(coords), 0, nullptr, texel, 2);
    assert(std::memcmp(texel, value, 16) == 0);
    std::memset(static_cast<unsigned char*>(memory) + kBytes - 16, 0, 16);
  }
  munmap(memory, kBytes);
}

void sampled_images_bring_their_sampler() {
  float numbers[2] = {1, 3};
  ImageView view = plain_view(ZE_IMAGE_TYPE_1D, ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_FLOAT, 2, 1,
                              reinterpret_cast<unsigned char*>(numbers));
  view.sampled = true;
  view.sampler = {ZE_SAMPLER_ADDRESS_MODE_CLAMP, ZE_SAMPLER_FILTER_MODE_LINEAR, true};
  uint32_t coords[4] = {as_bits(0.5f)}, texel[4];
  az_image_read(&view, nullptr, 1, 1, coords, 1, nullptr, texel, 0);
  assert(texel[0] == as_bits(2));
  coords[0] = 1;
  az_image_read(&view, nullptr, 1, 1, coords, 0, nullptr, texel, 0);
  assert(texel[0] == as_bits(3));
  int32_t place[4] = {1};
  uint32_t value[4] = {as_bits(7)};
  az_image_write(&view, 1, 1, place, value, 0);
  az_image_write(&view, 1, 0, place, coords, 0);
  assert(numbers[1] == 7);
}

void queries_answer_in_spirv_numbers() {
  constexpr Swizzle R{}, G = ZE_IMAGE_FORMAT_SWIZZLE_G, B = ZE_IMAGE_FORMAT_SWIZZLE_B, A = ZE_IMAGE_FORMAT_SWIZZLE_A,
                         Zero = ZE_IMAGE_FORMAT_SWIZZLE_0, One = ZE_IMAGE_FORMAT_SWIZZLE_1, X = ZE_IMAGE_FORMAT_SWIZZLE_X;
  struct Case {
    ze_image_format_t format;
    bool srgb;
    uint32_t data_type, order;
  };
  const Case cases[] = {
      {{ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UNORM, R, G, B, A}, false, 2, 5},
      {{ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UNORM, R, G, B, A}, true, 2, 17},
      {{ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_SNORM, B, G, R, A}, false, 0, 6},
      {{ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UNORM, R, G, B, X}, false, 2, 12},
      {{ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_FLOAT, R, Zero, Zero, One}, false, 14, 0},
      {{ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_UINT, R, G, B, A}, false, 12, 0},
      {{ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_FLOAT, ZE_IMAGE_FORMAT_SWIZZLE_D, Zero, Zero, One}, false, 14, 13},
      {{ZE_IMAGE_FORMAT_LAYOUT_16, ZE_IMAGE_FORMAT_TYPE_FLOAT, Zero, Zero, Zero, A}, false, 13, 1},
      {{ZE_IMAGE_FORMAT_LAYOUT_16_16, ZE_IMAGE_FORMAT_TYPE_SINT, R, G, Zero, One}, false, 8, 2},
      {{ZE_IMAGE_FORMAT_LAYOUT_8, ZE_IMAGE_FORMAT_TYPE_UNORM, R, R, R, One}, false, 2, 9},
      {{ZE_IMAGE_FORMAT_LAYOUT_5_6_5, ZE_IMAGE_FORMAT_TYPE_UNORM, R, G, B, One}, false, 4, 4},
      {{ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2, ZE_IMAGE_FORMAT_TYPE_UNORM, A, B, G, R}, false, 16, 19},
      {{ZE_IMAGE_FORMAT_LAYOUT_11_11_10, ZE_IMAGE_FORMAT_TYPE_FLOAT, One, Zero, One, Zero}, false, UINT32_MAX, UINT32_MAX},
      {{ZE_IMAGE_FORMAT_LAYOUT_NV12, ZE_IMAGE_FORMAT_TYPE_UINT, X, X, X, X}, false, 2, 4},
  };
  for (const Case& c : cases) {
    ImageView view{};
    view.type = ZE_IMAGE_TYPE_2DARRAY;
    view.desc = c.format;
    view.format = image_format(view.type, view.desc);
    view.srgb = c.srgb;
    view.width = 5, view.height = 6, view.slices = 7;
    assert(az_image_query(&view, 4) == c.data_type && az_image_query(&view, 5) == c.order);
    assert(az_image_query(&view, 0) == 5 && az_image_query(&view, 1) == 6 && az_image_query(&view, 3) == 7);
    assert(az_image_query(&view, 2) == 1 && az_image_query(&view, 6) == 1 && az_image_query(&view, 7) == 1);
    view.type = ZE_IMAGE_TYPE_3D;
    assert(az_image_query(&view, 2) == 7 && az_image_query(&view, 3) == 1 && az_image_query(&view, 99) == 0);
  }
}

// Of every format, at places inside and around; nothing but the image's own bytes is touched.
void blocks_are_bytes_of_the_image() {
  for (uint32_t layout = 0; layout < kLayouts; ++layout)
    for (uint32_t turn = 0; turn < 20; ++turn) {
      Scene scene{};
      if (!describe(ZE_IMAGE_TYPE_2D, layout, below(5), &scene)) continue;
      place(&scene);
      fill(scene, false);
      const ImageView& view = scene.view;
      const uint32_t lanes = 1u << below(6), rows = 1 + below(4), bytes = 1u << below(4);
      const uint64_t mask = generator();
      const auto x = static_cast<int32_t>(below(80)) - 20, y = static_cast<int32_t>(below(14)) - 3;
      const auto width = static_cast<int64_t>(view.format->planes[0].columns(view.width) * view.format->planes[0].bytes);
      const auto height = static_cast<int64_t>(view.format->planes[0].rows(view.height));
      std::vector<unsigned char> before(view.planes[0].base, view.planes[0].base + scene.bytes), after = before;
      std::vector<unsigned char> read(rows * lanes * bytes, 0xee), given(read.size()), wanted = read;
      for (auto& byte : given) byte = static_cast<unsigned char>(generator());
      for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t lane = 0; lane < lanes; ++lane) {
          if (!(mask >> lane & 1)) continue;
          const int64_t at = x + int64_t{lane} * bytes, line = std::clamp<int64_t>(y + int64_t{row}, 0, height - 1);
          const int64_t near = std::clamp<int64_t>(at, 0, std::max<int64_t>(width - bytes, 0));
          const size_t number = (row * lanes + lane) * bytes;
          for (int64_t i = 0; i < bytes; ++i) {
            const size_t place = static_cast<size_t>(line) * view.planes[0].row_pitch + static_cast<size_t>(near + i);
            wanted[number + static_cast<size_t>(i)] = near + i < width ? before[place] : 0;
            if (at == near && line == y + int64_t{row} && at + bytes <= width)
              after[place] = given[number + static_cast<size_t>(i)];
          }
        }
      az_image_block_read(&view, lanes, mask, x, y, rows, bytes, read.data());
      assert(read == wanted);
      az_image_block_write(&view, lanes, mask, x, y, rows, bytes, given.data());
      assert(std::memcmp(view.planes[0].base, after.data(), after.size()) == 0);
    }
}

}  // namespace

int main() {
  every_read_is_what_the_specification_says();
  every_write_is_what_the_specification_says();
  every_code_survives();
  ties_go_to_even();
  wild_coordinates_stay_inside();
  centres_are_exact();
  pixels_beyond_31_bits_are_reached();
  sampled_images_bring_their_sampler();
  queries_answer_in_spirv_numbers();
  blocks_are_bytes_of_the_image();
  std::puts("image_access_test: ok");
  return 0;
}
