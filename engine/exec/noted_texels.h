// Checks of uninitialized texels: what kernels read of images that nothing has written.
#pragma once

#include "offered.h"
#include "texel_lanes.h"

namespace anyzero {

// In front of an access. Texels that are written count as written from now on; reads that are only stored elsewhere pass.
void note_texels(RunningWorker& worker, const TexelLanes& texels, uint64_t mask, uintptr_t instruction);

}  // namespace anyzero
