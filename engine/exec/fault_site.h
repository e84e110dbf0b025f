// The site of a fault in a launch, for its report: more than a Fault carries, because every walk of a ring returns one.
#pragma once

#include <cstdint>

#include "../layouts/gen/kernel.h"

namespace anyzero {

struct RunningLaunch;
struct Fault;

struct FaultSite {
  Grid grid;              // the groups of the launch, or its blocks where the kernel does not know its groups
  uint64_t first, last;   // the thread ran these, and was at one of them
  uintptr_t instruction;  // of the kernel: the fault's own, or the call that led to it; 0 where it is not known
};

// Keeps the site of a fault for its report, and gives it a number. The last few are kept; older ones are forgotten. The kernel's
// stack must be as it was at the fault.
uint32_t keep_site(const RunningLaunch& running, uint64_t first, uint64_t last, const Fault& fault, const void* stack_top);

// False for 0 and for one that has been forgotten.
bool find_site(uint32_t number, FaultSite* site);

}  // namespace anyzero
