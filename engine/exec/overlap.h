// Commands of one list that have no order among each other and run at the same time: in a list of relaxed ordering, those between
// two barriers or commands with events.
#pragma once

#include <cstdint>
#include <vector>

#include "stream.h"

namespace anyzero {

class Context;
class Device;

// Successive packets for one thread: one launch, or copies and fills until they are worth the trouble.
struct OverlapShare {
  Cursor begin;
  uint32_t count;
};

struct Overlap {
  uint64_t first;  // index of its first packet in the program
  uint64_t count;
  uint64_t cost;  // rough nanoseconds, without launches
  std::vector<OverlapShare> shares;
};

// All that can overlap among the `count` packets from `begin` on.
std::vector<Overlap> find_overlaps(Cursor begin, uint64_t count);

// Every packet of the overlap, on all threads there are. A fault is raised again in the caller's own trap, with the packet that it
// happened in at `running`. `brief`: threads that wait for something else may help.
void run_overlap(const Overlap& overlap, const Context& context, const Device& device, bool brief, const Packet** running);

}  // namespace anyzero
