// Runs kernels: shares the groups of a launch out over the threads there are.
#pragma once

#include <cstdint>

#include "busy.h"
#include "packet.h"
#include "turns.h"

namespace anyzero {

class Context;

// Picoseconds of work below which waking other threads costs more than it saves.
inline constexpr uint64_t kWorthSharing = 20'000'000;

// Nanoseconds of work that a thread may take on while it waits for something else.
inline constexpr uint64_t kBriefNs = 500'000;

// Every launch of the packet, one behind the other, and tells how long it was busy. Runs in a trap, which a fault of the kernel
// leaves for.
void run_launches(const LaunchPacket& packet, const Context& context, const Device& device, Busy& busy);

// Rough nanoseconds that it will take on one thread alone; UINT64_MAX / 2 while it is unknown, or where it may never end.
uint64_t cost_of(const LaunchPacket& packet);
uint64_t cost_of_launch(const Code& code, const TurnsSource& launch, uint32_t flags);

// How many groups of a cooperative kernel can run at the same time.
uint32_t most_cooperative_groups();

// False when there are more groups than can be numbered.
bool count_groups(const uint32_t* group_count, uint64_t* groups);

}  // namespace anyzero
