#include "trap.h"

#include <signal.h>

#include <atomic>

#include "mutex.h"

namespace anyzero {

thread_local TrapFrame* current_trap __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction previous[65];
std::atomic<bool (*)(uintptr_t)> settler{nullptr};

// True while this thread's fault is with the program's own handler: should that send the signal again, there is nobody left to ask.
thread_local bool handed_on __attribute__((tls_model("initial-exec"))) = false;

void hand_on(int number, siginfo_t* info, void* context) {
  const struct sigaction& old = previous[number];
  const bool sent = info->si_code <= 0;
  if ((handed_on && sent) || (!(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)) {
    signal(number, SIG_DFL);
    // A fault happens again when we return; a signal that was sent has to be sent again.
    if (sent) raise(number);
    return;
  }
  handed_on = true;
  if (old.sa_flags & SA_SIGINFO) {
    old.sa_sigaction(number, info, context);
  } else if (old.sa_handler != SIG_IGN) {
    old.sa_handler(number);
  }
  handed_on = false;
}

void on_fault(int number, siginfo_t* info, void* context) {
  TrapFrame* frame = current_trap;
  auto settle = settler.load(std::memory_order_acquire);
  if (settle && number == SIGSEGV && info->si_code > 0 && settle(reinterpret_cast<uintptr_t>(info->si_addr))) return;
  // si_code > 0: raised by the instruction itself, not sent by kill().
  if (!frame || info->si_code <= 0) return hand_on(number, info, context);
  frame->fault.signal = number;
  frame->fault.address = reinterpret_cast<uintptr_t>(info->si_addr);
  // Whoever called us, standing in front, may have the signal blocked.
  unblock_faults();
  siglongjmp(frame->jump, 1);
}

}  // namespace

void set_fault_settler(bool (*settle)(uintptr_t)) { settler.store(settle, std::memory_order_release); }

thread_local bool faults_unblocked __attribute__((tls_model("initial-exec"))) = false;

void unblock_faults() {
  sigset_t faults;
  sigemptyset(&faults);
  for (int number : kSignals) sigaddset(&faults, number);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
  faults_unblocked = true;
}

void install_traps() {
  static Mutex mutex;
  std::lock_guard lock(mutex);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  // NODEFER: the handler leaves by a jump, which must not leave the signal blocked.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (int number : kSignals) {
    struct sigaction now;
    sigaction(number, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault) continue;
    previous[number] = now;
    sigaction(number, &action, nullptr);
  }
}

}  // namespace anyzero
