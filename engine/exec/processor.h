// Walks a ring's packets in order. Threading: the thread that holds the ring's turn.
#pragma once

#include "ring.h"

namespace anyzero {

class Recorder;

class Walk {
 public:
  // A helper stops once `until` packets are done, or after the first command that ends behind `deadline`.
  Walk(Ring& ring, bool on_engine_thread, uint64_t until, uint64_t deadline)
      : ring(ring), on_engine_thread(on_engine_thread), until(until), deadline(deadline) {}

  // Runs until nothing is left, a wait is not met, or another thread must take over. After a fault the ring is lost; the process
  // continues.
  Progress run();

 private:
  enum class Step { Done, Blocked, NeedsEngine };

  Progress walk();
  Progress execute(ExecutePacket& packet);
  [[gnu::noinline]] bool overlap(const Program& program);
  Packet& front();
  void pop(Packet& packet);
  // `targets`: the resolved targets of a recorded packet's waits in this execution.
  Step ready(const Packet& packet, const WaitFor* targets);
  // `ends`: how many commands of the ring have ended when this one has; 0 inside of an execution that goes on.
  Step step(const Packet& packet, const WaitFor* targets, uint64_t ends);
  void act(const Packet& packet);
  // Does work that moves so many bytes, and adds its time.
  template <class Work>
  void move(uint64_t bytes, Work&& work);
  bool resident(const Packet& packet);
  bool needs_engine(const Packet& packet) const;
  void infer(const InferPacket& packet);
  // Adds the command, begun at `start` and done now, to the recording: command_record.cpp.
  [[gnu::noinline]] void record(const Packet& packet, uint64_t start);
  [[gnu::noinline, gnu::cold]] void record_first(const Packet& packet, uint64_t start, uint64_t end);
  void record_by(Recorder& of, const Packet& packet, uint64_t start, uint64_t end) const;
  // True if an engine thread has a more urgent ring, or a helper's time is over.
  bool should_yield();

  Ring& ring;
  const bool on_engine_thread;
  const uint64_t until;
  const uint64_t deadline;
  uint32_t walked = 0;
  bool untold = false;          // the ring's count has grown, and sleepers have not been woken yet
  uint64_t recorded_until = 0;  // the end of the last command, where a recording is made
  uint64_t worked = 0;          // bytes moved since the clock was last read, and some for every command
};

}  // namespace anyzero
