// Accesses of kernels that were compiled with bounds checks.
#pragma once

#include <cstdint>

#include "running.h"

namespace anyzero {

struct Launch;

// Finds the bounds of the memory that pointer arguments point to.
void prepare_checks(RunningLaunch& running, const Launch& launch);

// Some lane of an access may be out of bounds: reports the lanes that are, and does the access for the others. `instruction` is the
// return address in the kernel.
void check_access(RunningWorker& worker, const CheckSite& site, uint64_t* block, uint64_t lanes, unsigned char* data,
                  uintptr_t instruction);

// Writes the begin of the allocation around each address, then the sizes.
void look_bounds_up(RunningWorker& worker, const uintptr_t* addresses, uint64_t count, uint64_t lanes, uint64_t* found);

}  // namespace anyzero
