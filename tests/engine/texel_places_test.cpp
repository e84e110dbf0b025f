// The texels that a read of an image takes its value from, against what the read gives: other texels may change, these may not.
#undef NDEBUG
#include "backends/texel_places.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "backends/cpu/image_access.h"
#include "thorough.h"

using namespace anyzero;

namespace {

std::mt19937_64 generator(11);

uint32_t below(uint32_t limit) { return static_cast<uint32_t>(generator() % limit); }
float between(float low, float high) { return std::uniform_real_distribution<float>(low, high)(generator); }

constexpr ze_image_type_t kTypes[] = {ZE_IMAGE_TYPE_1D,      ZE_IMAGE_TYPE_2D,      ZE_IMAGE_TYPE_3D,
                                      ZE_IMAGE_TYPE_1DARRAY, ZE_IMAGE_TYPE_2DARRAY, ZE_IMAGE_TYPE_BUFFER};
constexpr ze_sampler_address_mode_t kModes[] = {ZE_SAMPLER_ADDRESS_MODE_NONE, ZE_SAMPLER_ADDRESS_MODE_REPEAT,
                                                ZE_SAMPLER_ADDRESS_MODE_CLAMP, ZE_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER,
                                                ZE_SAMPLER_ADDRESS_MODE_MIRROR};

// Texels of one float each.
struct Scene {
  ImageView view{};
  std::vector<float> texels;
  bool flat, deep;

  explicit Scene(ze_image_type_t type) {
    view.type = type;
    view.desc = {ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_FLOAT, ZE_IMAGE_FORMAT_SWIZZLE_R,
                 ZE_IMAGE_FORMAT_SWIZZLE_0, ZE_IMAGE_FORMAT_SWIZZLE_0,  ZE_IMAGE_FORMAT_SWIZZLE_1};
    view.format = image_format(type, view.desc);
    assert(view.format);
    flat = type == ZE_IMAGE_TYPE_1D || type == ZE_IMAGE_TYPE_1DARRAY || type == ZE_IMAGE_TYPE_BUFFER;
    deep = type == ZE_IMAGE_TYPE_3D || type == ZE_IMAGE_TYPE_1DARRAY || type == ZE_IMAGE_TYPE_2DARRAY;
    view.width = 1 + below(9);
    view.height = flat ? 1 : 1 + below(7);
    view.slices = deep ? 1 + below(4) : 1;
    texels.resize(view.width * view.height * view.slices);
    view.planes[0] = {reinterpret_cast<unsigned char*>(texels.data()), view.width * 4};
    view.slice_pitch = view.width * view.height * 4;
  }

  unsigned axes() const { return view.type == ZE_IMAGE_TYPE_3D ? 3 : flat ? 1 : 2; }
  unsigned coordinates() const { return axes() + (deep && view.type != ZE_IMAGE_TYPE_3D); }

  float read(const TexelRead& read) const {
    uint32_t texel[4] = {};
    az_image_read(&view, read.sampler, 1, 1, read.coordinates, read.floats, nullptr, texel, 0);
    return std::bit_cast<float>(texel[0]);
  }
  bool contains(const TexelPlace& at) const {
    return at.x >= 0 && static_cast<uint64_t>(at.x) < view.width && at.y >= 0 && static_cast<uint32_t>(at.y) < view.height &&
           at.z >= 0 && static_cast<uint32_t>(at.z) < view.slices;
  }
  float& texel(const TexelPlace& at) {
    float* found = nullptr;
    each_element(view, at, [&](unsigned char* begin, size_t bytes) {
      assert(bytes == sizeof *found);
      found = reinterpret_cast<float*>(begin);
    });
    return *found;
  }
};

uint32_t coordinate(const TexelRead& read, bool normalized, uint64_t size) {
  const auto most = static_cast<float>(size);
  if (!read.floats) return static_cast<uint32_t>(static_cast<int32_t>(below(static_cast<uint32_t>(size) + 6)) - 3);
  float at = between(-most - 1, 2 * most + 1);
  // Centres, edges, and places near to them.
  if (below(3) == 0) at = std::floor(at) + (below(2) ? 0.5F : 0.0F) + (below(2) ? 0.0F : between(-0.004F, 0.004F));
  return std::bit_cast<uint32_t>(normalized ? at / most : at);
}

void compare(Scene& scene) {
  SamplerState sampler{kModes[below(5)], below(2) ? ZE_SAMPLER_FILTER_MODE_LINEAR : ZE_SAMPLER_FILTER_MODE_NEAREST, below(2) == 1};
  TexelRead read{below(4) ? &sampler : nullptr, {}, below(3) != 0, true};
  if (!read.sampler || scene.view.type == ZE_IMAGE_TYPE_BUFFER) read.sampler = nullptr, read.floats = false;
  const uint64_t sizes[3] = {scene.view.width, scene.axes() > 1 ? scene.view.height : scene.view.slices, scene.view.slices};
  for (unsigned i = 0; i < scene.coordinates(); ++i)
    read.coordinates[i] = coordinate(read, read.sampler && sampler.normalized && i < scene.axes(), sizes[i]);

  const TexelPlaces places = places_of(scene.view, read);
  for (float& each : scene.texels) each = between(0, 1);
  const float before = scene.read(read);
  std::vector<float> kept;
  for (uint32_t i = 0; i < places.count; ++i) {
    assert(scene.contains(places.at[i]));
    kept.push_back(scene.texel(places.at[i]));
  }
  // The others together may weigh less than a 256th for each axis.
  for (float& each : scene.texels) each += 1;
  for (uint32_t i = 0; i < places.count; ++i) scene.texel(places.at[i]) = kept[i];
  assert(std::fabs(scene.read(read) - before) < 3.0F / 256);
  // Each of them changes the value, unless its weights along several axes are small.
  const float after = scene.read(read);
  for (uint32_t i = 0; i < places.count; ++i) {
    scene.texel(places.at[i]) += 0x1p26F;
    assert(std::fabs(scene.read(read) - after) >= 1);
    scene.texel(places.at[i]) = kept[i];
  }
}

}  // namespace

int main() {
  for (uint32_t turn = examples(20'000, 500'000); turn > 0; --turn) {
    Scene scene(kTypes[below(6)]);
    for (int i = 0; i < 4; ++i) compare(scene);
  }
  std::puts("texel_places_test: ok");
  return 0;
}
