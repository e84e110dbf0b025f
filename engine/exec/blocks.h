// Block sizes for kernels that do not use their groups, so that the engine may choose them; and the order in which the groups of
// other kernels run.
#pragma once

#include <cstdint>

#include "code.h"
#include "offered.h"

namespace anyzero {

// Replaces the `groups` of `grid`, whose global size stays; the last blocks of a row or column may extend beyond it. Returns the
// number of blocks.
uint64_t choose_blocks(Grid& grid, const Code& code, uint64_t groups);

// Orders groups in strips: neighbours in both dimensions run close in time, so that memory that they both read, and cache lines
// that they both write, are still in the caches.
void choose_strip(Grid& grid);

}  // namespace anyzero
