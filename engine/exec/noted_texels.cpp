#include "noted_texels.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <utility>

#include "../backends/texel_places.h"
#include "../check/finding.h"
#include "bounds.h"
#include "code.h"
#include "explain_place.h"
#include "race_report.h"
#include "running.h"
#include "thread_notes.h"
#include "trap.h"

namespace anyzero {

namespace {

uintptr_t number(const unsigned char* at) { return reinterpret_cast<uintptr_t>(at); }

// A view of other elements may have written a part of a texel, of which the program may use no more.
bool is_written(const WrittenMemory& written, const ImageView& image, const TexelPlace& at) {
  bool any = false;
  each_element(image, at,
               [&](const unsigned char* begin, size_t bytes) { any = any || written.any_written(number(begin), bytes); });
  return any;
}

std::string place_text(const ImageView& image, const TexelPlace& at, unsigned coordinates) {
  const int32_t all[3] = {at.x, image.type == ZE_IMAGE_TYPE_1DARRAY ? at.z : at.y, at.z};
  std::string text = "(" + std::to_string(all[0]);
  for (unsigned i = 1; i < coordinates; ++i) text += ", " + std::to_string(all[i]);
  return text + ")";
}

struct Access {
  const ThreadNotes& thread;
  const TexelLanes& texels;
  WrittenMemory& written;
  uintptr_t instruction;

  const ImageView& image() const { return *texels.image(); }

  // `what`: the texel or the bytes that nothing has written; `address` lies in them.
  void report(unsigned lane, const std::string& what, unsigned coordinates, uintptr_t address) const {
    const RunningLaunch& running = *thread.running;
    const std::string& kernel = running.code->facts().name;
    const uint64_t place = std::hash<std::string>{}(kernel) * 31 + texels.site.word;
    if (!seen(Rule::UninitializedTexel, place)) {
      const std::string size = "an image of " + size_text(image(), coordinates);
      Finding finding{Rule::UninitializedTexel, place, {}, {}, {}, {}, {}, {}};
      finding.kernel = kernel;
      finding.message = "kernel " + kernel + " reads " + what + " of " + size + ", which nothing has written since it was made";
      uint64_t item[3];
      texels.item(lane, item);
      finding.work_item = work_item_text(*running.launch, item);
      finding.stack = stack_of(running, instruction);
      finding.memory = written.made().empty() ? size + ", " + memory_at(address) : size + "; made by " + written.made();
      anyzero::report(std::move(finding));
    }
    if (is_checked(kCheckStop)) raise({Fault::kMistake, 0, 0, instruction, 0});
  }

  // Lanes mostly access consecutive texels of a row by integers: then it is one range of memory. False if that does not do.
  bool run(uint64_t mask) const {
    const ImagePlane& plane = image().format->planes[0];
    if (mask & (mask + 1) || texels.is(CheckFlag::kFloats) || texels.sampler()) return false;
    if (image().format->n_planes != 1 || plane.across != 1 || plane.down != 1) return false;
    const unsigned coordinates = texels.site.components, count = static_cast<unsigned>(std::countr_one(mask));
    for (unsigned i = 0; i < coordinates; ++i)
      for (unsigned lane = 1; lane < count; ++lane)
        if (texels.bits(lane, i) != texels.bits(0, i) + (i ? 0 : lane)) return false;
    uint32_t first[3] = {};
    for (unsigned i = 0; i < coordinates && i < 3; ++i) first[i] = texels.bits(0, i);
    const TexelPlaces places = place_of_write(image(), first);
    if (!places.count || static_cast<uint64_t>(places.at[0].x) + count > image().width) return false;
    bool done = true;
    each_element(image(), places.at[0], [&](const unsigned char* begin, size_t bytes) {
      if (texels.reads())
        done = written.all_written(number(begin), bytes * count);
      else
        written.write(number(begin), bytes * count);
    });
    return done;
  }

  void read(unsigned lane) const {
    const unsigned coordinates = texels.site.components;
    TexelRead wanted{texels.sampler(), {}, texels.is(CheckFlag::kFloats), texels.is(CheckFlag::kBlends)};
    for (unsigned i = 0; i < coordinates && i < 3; ++i) wanted.coordinates[i] = texels.bits(lane, i);
    const TexelPlaces places = places_of(image(), wanted);
    // A blend computes with what it reads, though its result is only stored.
    if (places.count == 1 && texels.is(CheckFlag::kMoved)) return;
    for (uint32_t i = 0; i < places.count; ++i) {
      if (is_written(written, image(), places.at[i])) continue;
      uintptr_t address = 0;
      each_element(image(), places.at[i], [&](const unsigned char* begin, size_t) { address = address ? address : number(begin); });
      return report(lane, "the texel " + place_text(image(), places.at[i], coordinates), coordinates, address);
    }
  }

  void write(unsigned lane) const {
    const unsigned coordinates = texels.site.components;
    uint32_t bits[3] = {};
    for (unsigned i = 0; i < coordinates && i < 3; ++i) bits[i] = texels.bits(lane, i);
    const TexelPlaces places = place_of_write(image(), bits);
    for (uint32_t i = 0; i < places.count; ++i)
      each_element(image(), places.at[i], [&](const unsigned char* begin, size_t bytes) { written.write(number(begin), bytes); });
  }

  // Raw bytes of the first plane: a run of each of several rows. Reads beyond an edge give the value at the edge.
  void rows(unsigned lane) const {
    const ImagePlane& plane = image().format->planes[0];
    const auto width = static_cast<int64_t>(plane.columns(image().width) * plane.bytes), bytes = int64_t{texels.site.element};
    const auto height = static_cast<int64_t>(plane.rows(image().height));
    const int64_t x = static_cast<int32_t>(texels.coordinates[0]) + lane * bytes, y = static_cast<int32_t>(texels.coordinates[1]);
    const int64_t from = std::clamp<int64_t>(x, 0, std::max<int64_t>(width - bytes, 0)), count = std::min(bytes, width);
    for (int64_t row = y; row < y + texels.site.components; ++row) {
      const int64_t at = std::clamp<int64_t>(row, 0, height - 1);
      const uintptr_t begin =
          number(image().planes[0].base) + static_cast<uint64_t>(at) * image().planes[0].row_pitch + static_cast<uint64_t>(from);
      if (!texels.reads()) {
        if (at == row && from == x) written.write(begin, static_cast<size_t>(count));
      } else if (!texels.is(CheckFlag::kMoved) && !written.any_written(begin, static_cast<size_t>(count))) {
        const std::string place = " from byte " + std::to_string(from) + " of row " + std::to_string(at);
        return report(lane, std::to_string(count) + " bytes" + place, 2, begin);
      }
    }
  }
};

}  // namespace

void note_texels(RunningWorker& worker, const TexelLanes& texels, uint64_t mask, uintptr_t instruction) {
  ThreadNotes* thread = thread_notes(worker);
  if (!thread || !thread->launch->init) return;
  WrittenMemory* written = thread->written_image(*texels.image());
  if (!written || written->complete()) return;
  const Access access{*thread, texels, *written, instruction};
  if (!texels.is(CheckFlag::kRows) && access.run(mask)) return;
  for (uint64_t left = mask; left; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    if (texels.is(CheckFlag::kRows))
      access.rows(lane);
    else if (texels.reads())
      access.read(lane);
    else
      access.write(lane);
  }
}

}  // namespace anyzero
