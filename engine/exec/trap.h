// Traps: faults in device work are returned as a value instead of killing the process.
#pragma once

#include <sys/types.h>
#include <xmmintrin.h>

#include <atomic>
#include <csetjmp>
#include <cstdint>
#include <utility>

namespace anyzero {

struct Fault {
  // A signal number, or one of the constants below. 0: no fault.
  int signal = 0;
  uint32_t site = 0;          // the site in a launch, see fault_site.h; 0 if unknown
  uintptr_t address = 0;      // for kRaised: the value that the code passed
  uintptr_t instruction = 0;  // 0 where it is not known
  uintptr_t stack = 0;        // the stack pointer; 0 where it is not known

  static constexpr int kStackOverflow = 1001;
  static constexpr int kWildAddress = 1002;  // a non-canonical address, which the processor does not report
  static constexpr int kTimeLimit = 1003;
  static constexpr int kGivenUp = 1004;  // stopped because of another thread's fault
  static constexpr int kNoMemory = 1005;
  static constexpr int kNoThreads = 1006;
  static constexpr int kTooManyGroups = 1007;
  static constexpr int kPrivateOverrun = 1008;
  static constexpr int kLocalOverrun = 1009;
  static constexpr int kNoCode = 1010;  // a jump to an address without code
  static constexpr int kNotResident = 1011;
  static constexpr int kMistake = 1012;  // check mode stopped the kernel after a report
  static constexpr int kRaised = 1100;   // + the kind that compiled code gave

  // 1 if `instruction` is a return address, which is behind the call.
  uintptr_t after_call() const { return signal == kNotResident || signal == kMistake || signal >= kRaised; }
};

// An access of an invalid address, by the program or by device work.
struct FaultingAccess {
  uintptr_t address;
  bool writes;
  void* context;  // of the signal
};
// Called first for every such access, in the signal's handler: true if the address has become valid meanwhile, and the instruction
// is to be repeated.
using FaultSettler = bool (*)(const FaultingAccess& access);
void add_fault_settler(FaultSettler settle);
uintptr_t instruction_of(void* context);

// One protected region of the calling thread; regions nest.
struct TrapFrame {
  sigjmp_buf jump;
  Fault fault;
  TrapFrame* outer;
  unsigned rounding;  // the thread's floating-point control register (MXCSR), which a kernel may change
};

// The innermost region of this thread, or nullptr outside device work. Read by the signal handler.
extern constinit thread_local TrapFrame* current_trap __attribute__((tls_model("initial-exec")));

// Installs the handlers in front of the program's, which still get faults of the program itself. Called again whenever a ring is
// created, in case another handler was installed since.
void install_traps();
// Whether faults come to our handler first, as long as nobody installs another one.
bool traps_come_first();

// Ends the innermost region with this fault. Outside of any region it ends the process.
[[noreturn]] void raise(const Fault& fault);
// The same with a fault that has occurred in this region already.
[[noreturn]] void raise_again();

// The limit of work that does not fault: a deadline, or a request of other threads.
struct Limit {
  uint64_t deadline = UINT64_MAX;  // of now_ns()
  const std::atomic<bool>* given_up = nullptr;
  // The kind of fault once the limit is passed, else 0.
  int passed() const;
};
// The limit of the code that this thread runs; nullptr while it must not be interrupted.
extern constinit thread_local const Limit* current_limit __attribute__((tls_model("initial-exec")));
// The deadline of this thread's work for the watchdog; nullptr if it was never watched.
extern constinit thread_local std::atomic<uint64_t>* current_deadline __attribute__((tls_model("initial-exec")));
// Interrupts a thread to check its limit. Harmless for a thread without one, or one that has ended.
void knock(pid_t thread);

// Prepares a thread for device work: unblocks the signals of faults, which programs block on some threads, and provides an
// alternate signal stack for stack overflows.
void ready_for_faults();
extern constinit thread_local bool faults_ready __attribute__((tls_model("initial-exec")));

// Runs `work` and returns its fault, if any. `work` must own nothing that a fault would leak or leave locked.
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

// Suspends device work while a user's callback runs, whose faults are the program's own.
class TrapPause {
 public:
  TrapPause() : saved_(std::exchange(current_trap, nullptr)) {}
  ~TrapPause() { current_trap = saved_; }

 private:
  TrapFrame* saved_;
};

}  // namespace anyzero
