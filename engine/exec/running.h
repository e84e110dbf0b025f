// A launch that is being executed: the state that all threads share that run its groups.
#pragma once

#include "offered.h"
#include "trap.h"
#include "turns.h"

namespace anyzero {

class Code;
struct Reach;
struct Launch;
struct LaunchNotes;

struct RunningLaunch {
  const void* args;
  Entry entry;
  uint64_t local_bytes;
  uint64_t scratch_bytes;
  Grid grid;
  Bounds bounds[kCheckedWords];  // right behind the grid, where kernels with bounds checks read them
  uint8_t noted[kCheckedWords];  // right behind the bounds: NotedArgument, for kernels that note their accesses
  const Code* code = nullptr;    // for reports of faults
  Limit limit;
  TurnsSource turns{};
  const Reach* reach = nullptr;    // the memory that it may access, on a device without on-demand paging
  const Launch* launch = nullptr;  // set for kernels with bounds checks
  LaunchNotes* notes = nullptr;    // set for kernels that note their accesses

  // `bounds` and `noted` are not initialized: only kernels that check or note their accesses use them.
  RunningLaunch() {}  // NOLINT(modernize-use-equals-default)

  bool limited() const { return limit.deadline != UINT64_MAX || limit.given_up; }
};

// The groups first … last - 1 on this thread, in a trap.
void run_groups(RunningLaunch& running, uint64_t first, uint64_t last);

}  // namespace anyzero
