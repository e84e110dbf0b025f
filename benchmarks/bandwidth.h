// Large copies and fills against what the processor can do by hand, taking turns in the same run.
#pragma once

#include "measure.h"
#include "rig.h"

namespace bench {

void bandwidth(const Rig& rig, const Report& report);

}  // namespace bench
