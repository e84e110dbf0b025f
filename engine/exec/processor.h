// Walks a ring's packets in order. One thread at a time, whichever holds the ring's turn.
#pragma once

#include "ring.h"

namespace anyzero {

struct Walk {
  Ring& ring;
  bool on_engine_thread;
  uint64_t until;  // stop when so many packets are done

  // Until nothing is left, a wait is not met, or another thread must take over. Faults become the ring's loss, not the process's.
  Progress run();

 private:
  enum class Step { Done, Blocked, NeedsEngine };

  Progress walk();
  Packet& front();
  void pop(Packet& packet);
  // `targets`: where the waits for counting events of a recorded packet find what they wait for.
  Step ready(const Packet& packet, const uint64_t* targets);
  Step step(const Packet& packet, const uint64_t* targets);
  Progress execute(ExecutePacket& packet);
  void act(const Packet& packet);
  bool resident(const Packet& packet);
};

}  // namespace anyzero
