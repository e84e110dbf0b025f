// The site of a fault in a launch, for its report: more than a Fault carries, because every walk of a ring returns one.
#pragma once

#include <cstdint>

#include "../layouts/gen/kernel.h"

namespace anyzero {

struct RunningLaunch;
struct Fault;

struct FaultSite {
  Grid grid;              // the groups of the launch, or its blocks where the kernel does not know its groups
  bool flat;              // are they blocks?
  uint64_t first, last;   // the groups that the thread ran; one of them faulted
  uintptr_t instruction;  // the kernel's faulting instruction, or the call that led to the fault; 0 if unknown
};

// Stores the site of a fault for its report, and returns its number. Only the last few are kept. The kernel's stack must be intact.
uint32_t keep_site(const RunningLaunch& running, uint64_t first, uint64_t last, const Fault& fault, const void* stack_top);

// False for 0 and for a number that is no longer kept.
bool find_site(uint32_t number, FaultSite* site);

}  // namespace anyzero
