// Faults in device work come back as a value instead of killing the process.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <utility>

namespace anyzero {

struct Fault {
  int signal = 0;  // 0: no fault
  uintptr_t address = 0;
};

// Asked first about every invalid address: true when it has become valid meanwhile and the instruction is to run again. Must be
// safe in a signal handler.
void set_fault_settler(bool (*settle)(uintptr_t address));

// One protected region of the calling thread; regions nest.
struct TrapFrame {
  sigjmp_buf jump;
  Fault fault;
  TrapFrame* outer;
};

// The innermost region of this thread, or nullptr outside device work. Read by the signal handler.
extern thread_local TrapFrame* current_trap __attribute__((tls_model("initial-exec")));

// Installs the handlers in front of whatever the program has; its own faults go on to its own. Called again whenever a ring is
// made, in case somebody has stepped in front of us since.
void install_traps();

// Programs block all signals on some of their threads; a fault there would be fatal whoever handles it.
void unblock_faults();
extern thread_local bool faults_unblocked __attribute__((tls_model("initial-exec")));

// Runs `work` and returns how it ended. `work` must own nothing that a fault would leak or leave locked.
template <class Work>
inline Fault trapped(Work&& work) {
  if (!faults_unblocked) unblock_faults();
  TrapFrame frame;
  frame.outer = current_trap;
  if (sigsetjmp(frame.jump, 0) == 0) {
    current_trap = &frame;
    work();
  }
  current_trap = frame.outer;
  return frame.fault;
}

// Steps out of device work for a while: a user's callback runs as the user's own code.
class TrapPause {
 public:
  TrapPause() : saved_(std::exchange(current_trap, nullptr)) {}
  ~TrapPause() { current_trap = saved_; }

 private:
  TrapFrame* saved_;
};

}  // namespace anyzero
