#include "trap.h"

#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "../system/clock.h"
#include "../system/mutex.h"
#include "../system/thread.h"
#include "kernel_memory.h"
#include "kernel_stack.h"

namespace anyzero {

thread_local TrapFrame* current_trap __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local const Limit* current_limit __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local std::atomic<uint64_t>* current_deadline __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

// Handlers that were installed before ours: at the first installation, and at the last. The last one may chain back to us, as
// another copy of this library does. The first one never does, so a chain through it ends.
struct sigaction first[65], previous[65];
bool came[65];
constinit std::atomic<FaultSettler> settlers[2] = {};

// The fault of this thread that was passed to another handler, and the stack pointer at that moment. That handler may never return,
// so the entry counts only for frames that are deeper on the stack.
struct HandedOn {
  const void* context = nullptr;
  uintptr_t stood_at = 0;
};
thread_local HandedOn handed_on __attribute__((tls_model("initial-exec")));

void unblock_faults() {
  sigset_t faults;
  sigemptyset(&faults);
  for (int number : kFaultSignals) sigaddset(&faults, number);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

// Space for our handler, and for the program's own, which it may call.
size_t handler_stack_bytes() {
  constexpr size_t kPage = 4096, kUsual = 256 * 1024;
  return (kUsual + getauxval(AT_MINSIGSTKSZ) + kPage - 1) / kPage * kPage;
}

void give_back_stack(void* memory) {
  stack_t now;
  if (sigaltstack(nullptr, &now) == 0 && now.ss_sp == memory) {
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
  munmap(memory, handler_stack_bytes());
}

void stand_on_own_stack() {
  stack_t now;
  if (sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return;
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, give_back_stack);
    return made;
  }();
  void* memory = mmap(nullptr, handler_stack_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;  // a stack overflow will then end the process
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = handler_stack_bytes();
  sigaltstack(&stack, nullptr);
  pthread_setspecific(key, memory);
}

__attribute__((noinline)) void hand_on(int number, siginfo_t* info, void* context) {
  const auto standing_at = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const HandedOn outer = handed_on;
  const bool within = standing_at < outer.stood_at;
  const bool handed_back = within && context == outer.context;
  const struct sigaction& other = handed_back ? first[number] : previous[number];
  const bool sent = info->si_code <= 0;
  // If the other handler raises the signal again, there is no further handler to chain to.
  if ((within && !handed_back && sent) || (!(other.sa_flags & SA_SIGINFO) && other.sa_handler == SIG_DFL)) {
    signal(number, SIG_DFL);
    // A fault happens again when we return; a signal that was sent has to be sent again.
    if (sent) ::raise(number);
    return;
  }
  handed_on = {context, standing_at};
  if (other.sa_flags & SA_SIGINFO) {
    other.sa_sigaction(number, info, context);
  } else if (other.sa_handler != SIG_IGN) {
    other.sa_handler(number);
  }
  handed_on = outer;
}

// Distinguishes our own signals from those of other senders.
char knock_mark;

// From here on the watchdog sends no signal to this thread, and one already sent has no effect.
void end_watch() {
  current_limit = nullptr;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (current_deadline) current_deadline->store(0, std::memory_order_relaxed);
}

// Called on every way out of device work.
[[noreturn]] void leave(const Fault& fault) {
  TrapFrame* frame = current_trap;
  if (!frame) std::abort();
  end_watch();
  frame->fault = fault;
  // The kernel's caller is left first: the C library and sanitizers reject a longjmp from one stack to another.
  if (in_kernel()) az_leave_kernel();
  current_trap = frame->outer;  // a fault on the way out must not recurse
  siglongjmp(frame->jump, 1);
}

uintptr_t register_of(void* context, int which) {
  return static_cast<uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[which]);
}

// The kind of a fault, from the processor's codes.
Fault fault_of(int number, uintptr_t address, void* context) {
  constexpr greg_t kGeneralProtection = 13;
  constexpr uintptr_t kInstructionFetch = 16;
  Fault fault{number, 0, address, register_of(context, REG_RIP), register_of(context, REG_RSP)};
  if (number != SIGSEGV) return fault;
  if (register_of(context, REG_TRAPNO) == kGeneralProtection) {
    fault.signal = Fault::kWildAddress;
  } else if (register_of(context, REG_ERR) & kInstructionFetch) {
    fault.signal = Fault::kNoCode;
  } else if (in_kernel()) {
    if (int overrun = memory_overrun(address, register_of(context, REG_RSP))) fault.signal = overrun;
  }
  return fault;
}

bool settle(const FaultingAccess& access) {
  for (auto& each : settlers)
    if (const FaultSettler by = each.load(std::memory_order_acquire); by && by(access)) return true;
  return false;
}

void on_fault(int number, siginfo_t* info, void* context) {
  TrapFrame* frame = current_trap;
  const bool knocked = info->si_code == SI_QUEUE && info->si_value.sival_ptr == &knock_mark;
  Fault fault;
  if (knocked) {
    const Limit* limit = current_limit;
    fault = {limit && frame ? limit->passed() : 0, 0, 0, register_of(context, REG_RIP), register_of(context, REG_RSP)};
    if (fault.signal == 0) return;
  } else {
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    constexpr uintptr_t kWrite = 2;
    if (number == SIGSEGV && info->si_code > 0 && settle({address, (register_of(context, REG_ERR) & kWrite) != 0, context})) return;
    // si_code > 0: raised by the instruction itself, not sent by kill().
    if (!frame || info->si_code <= 0) return hand_on(number, info, context);
    fault = fault_of(number, address, context);
  }
  // Before anything else: sanitizers hold a lock while they prepare a jump, and a second signal of the watchdog would deadlock on
  // it.
  end_watch();
  // A handler that chained to ours may have blocked the signal.
  unblock_faults();
  leave(fault);
}

}  // namespace

int Limit::passed() const {
  if (given_up && given_up->load(std::memory_order_relaxed)) return Fault::kGivenUp;
  return now_ns() >= deadline ? Fault::kTimeLimit : 0;
}

void raise(const Fault& fault) { leave(fault); }

void raise_again() { leave(Fault(current_trap->fault)); }

void knock(pid_t thread) {
  siginfo_t info = {};
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_ptr = &knock_mark;
  syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, SIGSEGV, &info);
}

void add_fault_settler(FaultSettler settle) {
  for (auto& each : settlers) {
    FaultSettler known = nullptr;
    if (each.compare_exchange_strong(known, settle) || known == settle) return;
  }
  std::abort();  // there are as many places as callers
}

uintptr_t instruction_of(void* context) { return register_of(context, REG_RIP); }

thread_local bool faults_ready __attribute__((tls_model("initial-exec"))) = false;

void ready_for_faults() {
  unblock_faults();
  stand_on_own_stack();
  faults_ready = true;
}

bool traps_come_first() {
  struct sigaction now;
  return sigaction(SIGSEGV, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault;
}

void install_traps() {
  static Mutex mutex;
  std::lock_guard lock(mutex);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  // NODEFER: the handler leaves by a jump, which must not leave the signal blocked.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (int number : kFaultSignals) {
    struct sigaction now;
    sigaction(number, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault) continue;
    if (!came[number]) first[number] = now;
    came[number] = true;
    previous[number] = now;
    sigaction(number, &action, nullptr);
  }
}

}  // namespace anyzero
