// Image accesses of checked kernels: their coordinates, compared with the size of the image, and the texels that they read.
#pragma once

#include "offered.h"

namespace anyzero {

struct CheckSite;

// `block`: the ids, the image and the sampler or nullptr; `coordinates`: a row of all lanes for each.
void check_texels(RunningWorker& worker, const CheckSite& site, const uint64_t* block, uint64_t mask, const uint32_t* coordinates,
                  uintptr_t instruction);

}  // namespace anyzero
