#include "checked_texels.h"

#include <bit>
#include <functional>
#include <string>
#include <utility>

#include "../check/finding.h"
#include "code.h"
#include "explain_place.h"
#include "noted_texels.h"
#include "packet.h"
#include "race_report.h"
#include "running.h"
#include "texel_lanes.h"
#include "trap.h"

namespace anyzero {

namespace {

bool is_layer(const ImageView& image, unsigned i) {
  return (image.type == ZE_IMAGE_TYPE_1DARRAY && i == 1) || (image.type == ZE_IMAGE_TYPE_2DARRAY && i == 2);
}

// A sampler with an address mode defines what lies outside.
bool defined_outside(const TexelLanes& texels) {
  if (!texels.reads()) return false;
  const SamplerState* sampler = texels.sampler();
  if (sampler) return sampler->address_mode != ZE_SAMPLER_ADDRESS_MODE_NONE;
  return texels.image()->sampled && texels.is(CheckFlag::kFloats);
}

bool is_inside(const TexelLanes& texels, unsigned lane) {
  const SamplerState* sampler = texels.sampler();
  for (unsigned i = 0; i < texels.site.components; ++i) {
    if (sampler && is_layer(*texels.image(), i)) continue;  // a sampler clamps layers
    const uint64_t size = extent(*texels.image(), i);
    if (!texels.is(CheckFlag::kFloats)) {
      if (texels.bits(lane, i) >= size) return false;  // as are negative ones
      continue;
    }
    const auto at = std::bit_cast<float>(texels.bits(lane, i));
    if (!(at >= 0 && at < (sampler && sampler->normalized ? 1.0F : static_cast<float>(size)))) return false;
  }
  return true;
}

std::string coordinates_text(const TexelLanes& texels, unsigned lane) {
  std::string text = "(";
  for (unsigned i = 0; i < texels.site.components; ++i) {
    const uint32_t bits = texels.bits(lane, i);
    text += i ? ", " : "";
    text += texels.is(CheckFlag::kFloats) ? std::to_string(std::bit_cast<float>(bits)) : std::to_string(static_cast<int32_t>(bits));
  }
  return text + ")";
}

void report_texel(const RunningLaunch& running, const TexelLanes& texels, unsigned lane, uint64_t place, uintptr_t instruction) {
  Finding finding{Rule::ImageOutOfBounds, place, {}, {}, {}, {}, {}, {}};
  finding.kernel = running.code->facts().name;
  finding.message = "kernel " + finding.kernel + (texels.reads() ? " reads" : " writes") + " the texel " +
                    coordinates_text(texels, lane) + " of an image of " + size_text(*texels.image(), texels.site.components);
  uint64_t item[3];
  texels.item(lane, item);
  finding.work_item = work_item_text(*running.launch, item);
  finding.stack = stack_of(running, instruction);
  report(std::move(finding));
}

void compare(RunningWorker& worker, const TexelLanes& texels, uint64_t mask, uintptr_t instruction) {
  for (uint64_t left = mask; left; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    if (is_inside(texels, lane)) continue;
    const auto& running = *static_cast<const RunningLaunch*>(worker.launch);
    const uint64_t place = std::hash<std::string>{}(running.code->facts().name) * 31 + texels.site.word;
    if (!seen(Rule::ImageOutOfBounds, place)) report_texel(running, texels, lane, place, instruction);
    if (is_checked(kCheckStop)) raise({Fault::kMistake, 0, 0, instruction, 0});
  }
}

}  // namespace

void check_texels(RunningWorker& worker, const CheckSite& site, const uint64_t* block, uint64_t mask, const uint32_t* coordinates,
                  uintptr_t instruction) {
  const TexelLanes texels{site, block, coordinates};
  if (!texels.image()) return;
  if (is_checked(kCheckMemory) && !texels.is(CheckFlag::kRows) && !defined_outside(texels))
    compare(worker, texels, mask, instruction);
  if (is_checked(kCheckInit)) note_texels(worker, texels, mask, instruction);
}

}  // namespace anyzero
