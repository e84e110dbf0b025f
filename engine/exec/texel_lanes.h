// An access of an image by a vector of work-items, as compiled code describes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../backends/image_view.h"
#include "../layouts/gen/kernel.h"

namespace anyzero {

struct TexelLanes {
  const CheckSite& site;
  const uint64_t* block;
  const uint32_t* coordinates;  // a row of all lanes for each; with CheckFlag::kRows those of the first lane

  bool is(uint32_t flag) const { return site.flags & flag; }
  const uint64_t* behind_ids() const { return block + (is(CheckFlag::kIdsByLane) ? 3 * size_t{site.lanes} : 3); }
  const ImageView* image() const { return reinterpret_cast<const ImageView*>(behind_ids()[0]); }
  // Nullptr also where the image has its own.
  const SamplerState* sampler() const { return reinterpret_cast<const SamplerState*>(behind_ids()[1]); }
  bool reads() const { return static_cast<CheckedAccess>(site.kind) == CheckedAccess::Load; }
  uint32_t bits(unsigned lane, unsigned i) const { return coordinates[size_t{i} * site.lanes + lane]; }
  void item(unsigned lane, uint64_t* id) const {
    for (unsigned i = 0; i < 3; ++i) id[i] = is(CheckFlag::kIdsByLane) ? block[size_t{i} * site.lanes + lane] : block[i];
    if (!is(CheckFlag::kIdsByLane)) id[0] += lane;
  }
};

// Along a coordinate of the access: its number of texels. Layers of an array come last.
uint64_t extent(const ImageView& image, unsigned coordinate);
// Text: the numbers of texels along so many coordinates.
std::string size_text(const ImageView& image, unsigned coordinates);

}  // namespace anyzero
