// Walks a ring's packets in order. One thread at a time, whichever holds the ring's turn.
#pragma once

#include "ring.h"

namespace anyzero {

class Walk {
 public:
  // A helper stops once `until` packets are done, or at the first command's end behind `deadline`.
  Walk(Ring& ring, bool on_engine_thread, uint64_t until, uint64_t deadline)
      : ring(ring), on_engine_thread(on_engine_thread), until(until), deadline(deadline) {}

  // Until nothing is left, a wait is not met, or another thread must take over. Faults become the ring's loss, not the process's.
  Progress run();

 private:
  enum class Step { Done, Blocked, NeedsEngine };

  Progress walk();
  Progress execute(ExecutePacket& packet);
  [[gnu::noinline]] bool overlap(const Program& program);
  Packet& front();
  void pop(Packet& packet);
  // `targets`: where the waits of a recorded packet that each execution settles anew find what they wait for.
  Step ready(const Packet& packet, const WaitFor* targets);
  // `ends`: how many commands of the ring have ended when this one has; 0 inside of an execution that goes on.
  Step step(const Packet& packet, const WaitFor* targets, uint64_t ends);
  void act(const Packet& packet);
  // Does work that moves so many bytes, and says how long that took.
  template <class Work>
  void move(uint64_t bytes, Work&& work);
  bool resident(const Packet& packet);
  bool needs_engine(const Packet& packet) const;
  void infer(const InferPacket& packet);
  // Adds the command, begun at `start` and done now, to the recording: command_record.cpp.
  [[gnu::noinline]] void record(const Packet& packet, uint64_t start);
  // An engine thread has another ring to see to; a helper has helped long enough.
  bool should_yield();

  Ring& ring;
  const bool on_engine_thread;
  const uint64_t until;
  const uint64_t deadline;
  uint32_t walked = 0;
  bool untold = false;  // the ring's count has moved on, and sleepers have not been woken yet
  uint64_t worked = 0;  // bytes moved since the last look at the clock, and some for every command
};

}  // namespace anyzero
