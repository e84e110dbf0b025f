// Faults in device work come back as a value instead of killing the process.
#pragma once

#include <sys/types.h>
#include <xmmintrin.h>

#include <atomic>
#include <csetjmp>
#include <cstdint>
#include <utility>

namespace anyzero {

struct Fault {
  // A signal's number, or one of those below, which are none. 0: no fault.
  int signal = 0;
  uint32_t site = 0;          // where in a launch, see fault_site.h; 0 where it is not known
  uintptr_t address = 0;      // for kRaised: the value that came along
  uintptr_t instruction = 0;  // 0 where it is not known
  uintptr_t stack = 0;        // the stack pointer; 0 where it is not known

  static constexpr int kStackOverflow = 1001;
  static constexpr int kWildAddress = 1002;  // an address so wrong that the processor does not say which
  static constexpr int kTimeLimit = 1003;
  static constexpr int kGivenUp = 1004;  // because of another thread's fault
  static constexpr int kNoMemory = 1005;
  static constexpr int kNoThreads = 1006;
  static constexpr int kTooManyGroups = 1007;
  static constexpr int kPrivateOverrun = 1008;
  static constexpr int kLocalOverrun = 1009;
  static constexpr int kNoCode = 1010;  // a jump to where no code is
  static constexpr int kNotResident = 1011;
  static constexpr int kMistake = 1012;  // check mode reported it, and was told to stop there
  static constexpr int kRaised = 1100;   // + the kind that compiled code gave

  // 1 where `instruction` is a return address, so that the call is in front of it.
  uintptr_t after_call() const { return signal == kNotResident || signal == kMistake || signal >= kRaised; }
};

// Asked first about every invalid address: true when it has become valid meanwhile and the instruction is to run again. Must be
// safe in a signal handler.
void set_fault_settler(bool (*settle)(uintptr_t address));

// One protected region of the calling thread; regions nest.
struct TrapFrame {
  sigjmp_buf jump;
  Fault fault;
  TrapFrame* outer;
  unsigned rounding;  // how the thread computes with floating-point numbers, which a kernel may change
};

// The innermost region of this thread, or nullptr outside device work. Read by the signal handler.
extern constinit thread_local TrapFrame* current_trap __attribute__((tls_model("initial-exec")));

// Installs the handlers in front of whatever the program has; its own faults go on to its own. Called again whenever a ring is
// made, in case another handler was installed over ours since.
void install_traps();

// Leaves device work for the innermost region, whose work then has ended with this fault. Outside of any region it ends the
// process.
[[noreturn]] void raise(const Fault& fault);
// The same with the fault that this region has met already.
[[noreturn]] void raise_again();

// When to give up work that does not fault: at a time, or when others say so.
struct Limit {
  uint64_t deadline = UINT64_MAX;  // of now_ns()
  const std::atomic<bool>* given_up = nullptr;
  // How it has passed, as a Fault; 0 when it has not.
  int passed() const;
};
// What the code that this thread runs just now is held to; nullptr where it must not be torn from its work.
extern constinit thread_local const Limit* current_limit __attribute__((tls_model("initial-exec")));
// Where the watchdog reads the deadline of this thread's work; nullptr while it has never been watched.
extern constinit thread_local std::atomic<uint64_t>* current_deadline __attribute__((tls_model("initial-exec")));
// Makes a thread look at its limit, in the midst of whatever it does. A thread that has none, or is gone, is not harmed.
void knock(pid_t thread);

// A thread that runs device work must let faults through, which programs block on some of their threads, and needs a stack for the
// handler to stand on when the kernel's has overflowed.
void ready_for_faults();
extern constinit thread_local bool faults_ready __attribute__((tls_model("initial-exec")));

// Runs `work` and returns how it ended. `work` must own nothing that a fault would leak or leave locked.
template <class Work>
inline Fault trapped(Work&& work) {
  if (!faults_ready) ready_for_faults();
  TrapFrame frame;
  frame.outer = current_trap;
  frame.rounding = _mm_getcsr();
  if (sigsetjmp(frame.jump, 0) == 0) {
    current_trap = &frame;
    work();
  } else {
    _mm_setcsr(frame.rounding);
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
