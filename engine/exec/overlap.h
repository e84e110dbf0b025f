// Independent commands of one list, which run at the same time: in a list with relaxed ordering, the commands between two barriers
// or commands with events.
#pragma once

#include <cstdint>
#include <vector>

#include "stream.h"

namespace anyzero {

class Context;
class Device;

// Successive packets for one thread: one launch, or enough copies and fills to be worth the hand-over.
struct OverlapShare {
  Cursor begin;
  uint32_t count;
};

struct Overlap {
  uint64_t first;  // index of its first packet in the program
  uint64_t count;
  uint64_t cost;  // estimated nanoseconds, without launches
  std::vector<OverlapShare> shares;
};

// Finds the packets that can overlap among the `count` packets from `begin` on.
std::vector<Overlap> find_overlaps(Cursor begin, uint64_t count);

// Runs every packet of the overlap, on all available threads. A fault is raised again in the caller's trap, with the faulting
// packet at `running`. `brief`: threads that wait for something else may help.
void run_overlap(const Overlap& overlap, const Context& context, const Device& device, bool brief, const Packet** running);

}  // namespace anyzero
