#include "explain_place.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "code.h"
#include "source_text.h"

namespace anyzero {

namespace {

struct Place3 {
  uint64_t x, y, z;
};

std::string text_of(const Place3& at) {
  return "(" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " + std::to_string(at.z) + ")";
}

// The group or block of that number, in the order of compiled code: strip by strip, and row by row within a strip.
Place3 numbered(const Grid& grid, uint64_t number, bool strips) {
  const uint64_t *count = grid.group_count, layer = count[0] * count[1];
  const uint64_t z = number / layer, rest = number % layer;
  if (!strips) return {rest % count[0], rest / count[0], z};
  const uint64_t begin = rest / (grid.strip * count[1]) * grid.strip, left = rest - begin * count[1];
  const uint64_t width = std::min(begin + grid.strip, count[0]) - begin;
  return {begin + left % width, left / width, z};
}

// A work-item of the grid, as global ids of the program.
Place3 of_program(const Grid& grid, const uint64_t* at) {
  if (grid.row_length) return {at[1] * grid.row_length + at[0], 0, 0};
  uint64_t ids[3] = {at[0], at[1], at[2]};
  std::swap(ids[0], ids[grid.lane_dimension]);
  return {ids[0], ids[1], ids[2]};
}

// The first and the last work-item of a group or block.
void items_of(const Grid& grid, const Place3& group, Place3* first, Place3* last) {
  const uint64_t at[3] = {group.x, group.y, group.z};
  uint64_t low[3], high[3];
  for (unsigned i = 0; i < 3; ++i) {
    low[i] = at[i] * grid.group_size[i] + grid.global_offset[i];
    high[i] = std::min(low[i] + grid.group_size[i], grid.global_size[i] + grid.global_offset[i]) - 1;
  }
  *first = of_program(grid, low);
  *last = of_program(grid, high);
}

std::string exactly(const Launch& launch, const Place3& item) {
  const uint64_t at[3] = {item.x, item.y, item.z};
  return "in work-item " + work_item_text(launch, at);
}

}  // namespace

std::string work_item_text(const Launch& launch, const uint64_t* at) {
  uint64_t group[3], local[3];
  for (unsigned i = 0; i < 3; ++i) {
    group[i] = (at[i] - launch.global_offset[i]) / launch.group_size[i];
    local[i] = (at[i] - launch.global_offset[i]) % launch.group_size[i];
  }
  return text_of({at[0], at[1], at[2]}) + ", local id " + text_of({local[0], local[1], local[2]}) + " of group " +
         text_of({group[0], group[1], group[2]});
}

std::string source_stack(const Code& code, uint64_t offset) {
  const LineTable& lines = code.facts().lines;
  std::string found;
  constexpr unsigned kMost = 16;
  unsigned depth = 0;
  for (uint32_t number = lines.place_of(offset); number; number = lines.place(number).caller) {
    const LinePlace place = lines.place(number);
    if (place.line == 0 && !place.file) continue;
    if (++depth > kMost) break;
    const char* file = lines.text(place.file);
    std::string text = shown(lines.text(place.source));
    if (text.empty()) text = source_line(file, place.line);
    std::string frame = "\n  File \"" + shown(*file ? file : "source") + "\", line " + std::to_string(place.line) + ", in " +
                        shown(lines.text(place.function));
    if (!text.empty()) frame += "\n    " + text;
    found.insert(0, frame);
  }
  return found;
}

bool is_assertion(uintptr_t address) {
  constexpr uintptr_t kMost = uintptr_t{1} << 36;
  return address - kAssertionAddress < kMost;
}

std::string asserting(const Launch& launch, const FaultSite& site, uintptr_t address) {
  uint64_t size[3];
  std::copy_n(site.grid.global_size, 3, size);
  std::swap(size[0], size[site.grid.lane_dimension]);
  if (site.grid.row_length) size[0] *= std::exchange(size[1], 1);
  const uint32_t* offset = launch.global_offset;
  const uint64_t number = (address - kAssertionAddress) / 4;
  if (number / size[0] / size[1] >= size[2]) return work_items(launch, site);
  const Place3 item{number % size[0] + offset[0], number / size[0] % size[1] + offset[1], number / size[0] / size[1] + offset[2]};
  return exactly(launch, item);
}

std::string work_items(const Launch& launch, const FaultSite& site) {
  const bool flat = site.flat;
  // A flat kernel counts blocks, without strips.
  const Grid& grid = site.grid;
  Place3 first = numbered(grid, site.first, !flat), last = numbered(grid, site.last - 1, !flat);
  // Blocks of several rows or layers are anywhere along the others.
  if (flat && first.z != last.z) first.y = 0, last.y = grid.group_count[1] - 1;
  if (flat && (first.y != last.y || first.z != last.z)) first.x = 0, last.x = grid.group_count[0] - 1;
  Place3 low, high, ignored;
  items_of(grid, first, &low, &ignored);
  items_of(grid, last, &ignored, &high);
  if (site.last - site.first == 1) {
    if (low.x == high.x && low.y == high.y && low.z == high.z) return exactly(launch, low);
    const std::string items = "one of the work-items " + text_of(low) + " to " + text_of(high);
    return flat ? "in " + items : "in group " + text_of(first) + ", " + items;
  }
  if (flat) return "between the work-items " + text_of(low) + " and " + text_of(high);
  return "in one of the " + std::to_string(site.last - site.first) + " groups from " + text_of(first) + " to " + text_of(last);
}

}  // namespace anyzero
