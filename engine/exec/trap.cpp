#include "trap.h"

#include <signal.h>

#include <mutex>

namespace anyzero {

thread_local TrapFrame* current_trap __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction previous[65];

void hand_on(int number, siginfo_t* info, void* context) {
  const struct sigaction& old = previous[number];
  if (old.sa_flags & SA_SIGINFO) {
    old.sa_sigaction(number, info, context);
  } else if (old.sa_handler == SIG_DFL) {
    // Returning re-runs the faulting instruction, now with the default action.
    signal(number, SIG_DFL);
  } else if (old.sa_handler != SIG_IGN) {
    old.sa_handler(number);
  }
}

void on_fault(int number, siginfo_t* info, void* context) {
  TrapFrame* frame = current_trap;
  // si_code > 0: raised by the instruction itself, not sent by kill().
  if (!frame || info->si_code <= 0) return hand_on(number, info, context);
  frame->fault.signal = number;
  frame->fault.address = reinterpret_cast<uintptr_t>(info->si_addr);
  siglongjmp(frame->jump, 1);
}

}  // namespace

void install_traps() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    // NODEFER: the handler leaves by a jump, which must not leave the signal blocked.
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (int number : kSignals) sigaction(number, &action, &previous[number]);
  });
}

}  // namespace anyzero
