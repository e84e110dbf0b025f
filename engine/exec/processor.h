// Walks a ring's packets in order. One thread at a time, whichever holds the ring's turn.
#pragma once

#include "ring.h"

namespace anyzero {

struct Walk {
  Ring& ring;
  bool on_engine_thread;

  // Until nothing is left, a wait is not met, or another thread must take over. Faults become the ring's loss, not the process's.
  Progress run();

 private:
  enum class Step { Done, Blocked, NeedsEngine };

  Progress walk();
  Packet& front();
  void pop(Packet& packet);
  Step ready(const Packet& packet);
  Step step(const Packet& packet);
  Progress execute(ExecutePacket& packet);
  void act(const Packet& packet);
  bool resident(const Packet& packet);
};

}  // namespace anyzero
