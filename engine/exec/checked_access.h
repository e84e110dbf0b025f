// Accesses of kernels that were compiled with bounds checks.
#pragma once

#include <cstdint>

#include "running.h"

namespace anyzero {

struct Launch;

// Finds the bounds of everything that pointers among the arguments lead to.
void prepare_checks(RunningLaunch& running, const Launch& launch);

// Some lane of an access may be out of bounds: reports those that are, and does the access for the others. `instruction` is where
// the kernel goes on.
void check_access(RunningWorker& worker, const CheckSite& site, uint64_t* block, uint64_t lanes, unsigned char* data,
                  uintptr_t instruction);

// Begin of the memory around each address, then the sizes.
void look_bounds_up(RunningWorker& worker, const uintptr_t* addresses, uint64_t count, uint64_t lanes, uint64_t* found);

}  // namespace anyzero
