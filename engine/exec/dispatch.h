// Runs kernels: distributes the groups of a launch over the available threads.
#pragma once

#include <cstdint>

#include "busy.h"
#include "packet.h"
#include "turns.h"

namespace anyzero {

class Context;

// Picoseconds of work below which waking other threads costs more than it saves.
inline constexpr uint64_t kWorthSharing = 20'000'000;

// Nanoseconds of work that a thread may help with while it waits for something else.
inline constexpr uint64_t kBriefNs = 500'000;

// Runs every launch of the packet, one after the other, and adds their time to `busy`. Runs in a trap, where a fault of the kernel
// is raised.
void run_launches(const LaunchPacket& packet, const Context& context, const Device& device, Busy& busy);

// Estimated nanoseconds on a single thread; UINT64_MAX / 2 while unknown, or if it may never end.
uint64_t cost_of(const LaunchPacket& packet);
uint64_t cost_of_launch(const Code& code, const TurnsSource& launch, uint32_t flags);

// The number of groups of a cooperative kernel that can run at the same time.
uint32_t most_cooperative_groups();

// False if there are more groups than can be numbered.
bool count_groups(const uint32_t* group_count, uint64_t* groups);

}  // namespace anyzero
