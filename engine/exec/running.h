// A launch that is being executed: what all threads that run its groups look at.
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
  Bounds bounds[kCheckedWords];  // right behind the grid, where kernels that check their accesses look
  uint8_t noted[kCheckedWords];  // right behind: NotedArgument, for kernels that note their accesses
  const Code* code = nullptr;    // for reports of faults
  Limit limit;
  TurnsSource turns{};
  const Reach* reach = nullptr;    // what it may touch, on a device without on-demand paging
  const Launch* launch = nullptr;  // of a kernel that checks its accesses
  LaunchNotes* notes = nullptr;    // of a kernel that notes its accesses

  // `bounds` and `noted` stay as they are: only kernels that check or note their accesses have some.
  RunningLaunch() {}  // NOLINT(modernize-use-equals-default)

  bool limited() const { return limit.deadline != UINT64_MAX || limit.given_up; }
};

// The groups first … last - 1 on this thread, in a trap.
void run_groups(RunningLaunch& running, uint64_t first, uint64_t last);

}  // namespace anyzero
