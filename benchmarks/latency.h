// The same work through an immediate list and through a regular list on a queue, taking turns.
#pragma once

#include "measure.h"
#include "rig.h"

namespace bench {

void latency(const Rig& rig, const Report& report);

}  // namespace bench
