#include "blocks.h"

#include <algorithm>

#include "../system/settings.h"
#include "dispatch.h"

namespace anyzero {

namespace {

// Blocks are narrow, so that the memory their columns read stays in the caches for the rows below, and low, so that the TLB still
// holds the pages of their rows when the next block reads from them. All widths are multiples of a cache line.
constexpr uint64_t kWidth = 128, kHeight = 16, kSharedHeight = 128;
constexpr uint64_t kShortWidth = 512;  // about that many bytes or shorts: as much memory as 128 floats, and less work around it
constexpr uint64_t kLongest = 4096;    // width of a block in a launch of a single row
constexpr uint64_t kLeastWidth = 64, kLeastHeight = 8;
// Blocks that take longer, in picoseconds, are cut down to the width of a vector, so that many threads finish together.
constexpr uint64_t kLongBlock = 10'000'000, kLeastLongWidth = 16;
// Until the time of a work-item is known, one thread measures a small block.
constexpr uint64_t kTrialWidth = 64, kTrialHeight = 4;
constexpr uint64_t kBlocksForEachThread = 32;
constexpr uint64_t kSharedBlocksForEachThread = 8;  // the higher a block, the more rows share its reads
// Groups of a strip: enough that memory is still read along rows.
constexpr uint64_t kStripItems = 256, kStripGroups = 16;
constexpr double kMostItems = 1e18;  // work-items of a launch whose blocks can be numbered; a larger one would run for years

// Small launches skip the divisions.
uint64_t parts(uint64_t whole, uint64_t part) { return whole <= part ? 1 : (whole + part - 1) / part; }

// Columns of blocks have about the same width.
uint64_t short_width(uint64_t global) {
  const uint64_t columns = std::max<uint64_t>((global + kShortWidth / 2) / kShortWidth, 1);
  return parts(parts(global, columns), kWidth) * kWidth;
}

}  // namespace

uint64_t choose_blocks(Grid& grid, const Code& code, uint64_t groups) {
  const uint64_t* global = grid.global_size;
  const double items = static_cast<double>(global[0]) * static_cast<double>(global[1]) * static_cast<double>(global[2]);
  if (items > kMostItems) return groups;
  const bool one_row = global[1] == 1 && global[2] == 1;
  const uint64_t pace = code.pace();
  uint64_t width = one_row ? kLongest : kWidth, height = code.shares_rows() ? kSharedHeight : kHeight;
  if (code.short_elements() && !one_row) width = short_width(global[0]);
  if (!pace) {
    width = one_row ? kTrialWidth * kTrialHeight : kTrialWidth;
    height = kTrialHeight;
  }
  // In a narrow launch, blocks are higher or deeper instead: each block costs some divisions.
  const uint64_t usual = width * (one_row ? 1 : height);
  width = std::min(width, global[0]);
  height = std::min(std::max(height, usual / width), global[1]);
  uint64_t depth = std::clamp<uint64_t>(usual / (width * height), 1, global[2]);
  if (settings.threads > 1 && static_cast<double>(pace) * items > kWorthSharing) {
    const uint64_t each = code.shares_rows() ? kSharedBlocksForEachThread : kBlocksForEachThread;
    const double wanted = static_cast<double>(settings.threads * each);
    auto few = [&] { return items < wanted * static_cast<double>(width * height * depth); };
    while (depth > 1 && few()) depth = parts(depth, 2);
    while (height > kLeastHeight && few()) height = parts(height, 2);
    while (width > kLeastWidth && few()) width = parts(width, 2);
    const uint64_t vector = std::max<uint64_t>(code.lanes(), kLeastLongWidth);
    while (width > vector && few() && pace > kLongBlock / (width * height * depth)) width = parts(width, 2);
  }
  grid.group_size[0] = width;
  grid.group_size[1] = height;
  grid.group_size[2] = depth;
  uint64_t blocks = 1;
  for (unsigned i = 0; i < 3; ++i) {
    grid.group_count[i] = parts(global[i], grid.group_size[i]);
    blocks *= grid.group_count[i];
  }
  return blocks;
}

void choose_strip(Grid& grid) {
  const uint64_t columns = grid.group_count[0];
  grid.strip = columns;
  if (grid.group_count[1] == 1) return;
  const uint64_t wanted = std::max(kStripGroups, kStripItems / grid.group_size[0]);
  // All strips have about the same width.
  grid.strip = parts(columns, parts(columns, wanted));
}

}  // namespace anyzero
