// The blocks in which a kernel runs that does not know its groups: their size is ours to choose. And the order in which the groups
// of other kernels run.
#pragma once

#include <cstdint>

#include "code.h"
#include "offered.h"

namespace anyzero {

// Replaces the `groups` of `grid`, whose global size stays; the last blocks of a row or column may stick out of it. Returns how
// many blocks there are.
uint64_t choose_blocks(Grid& grid, const Code& code, uint64_t groups);

// Neighbours in both dimensions come soon after each other, so that they find in the caches what they read in common, and lines
// that two of them write a part of.
void choose_strip(Grid& grid);

}  // namespace anyzero
