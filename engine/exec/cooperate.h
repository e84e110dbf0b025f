// Cooperative launches: all groups run at the same time, each on a thread of its own.
#pragma once

#include "running.h"

namespace anyzero {

// Returns when all groups are done. Runs in a trap: the first fault of any group is raised there, once no group runs any more.
void run_together(RunningLaunch& running, uint64_t groups);

}  // namespace anyzero
