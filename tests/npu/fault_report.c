// Preloaded into a client: says which libraries a fault came from, the innermost first, and lets the process die of it. And a call
// that lasts until Python has begun to finalize.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

static void report(int signal_number, siginfo_t* info, void* context) {
  (void)info;
  void* frames[64];
  const int count = backtrace(frames, 64);
  void* at = (void*)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  int first = 0;
  while (first < count && frames[first] != at) ++first;
  char text[4096] = "fault in:";
  size_t used = strlen(text);
  for (int i = first == count ? 0 : first; i < count && used < sizeof text - 300; ++i) {
    Dl_info found;
    const char* name = dladdr(frames[i], &found) && found.dli_fname ? strrchr(found.dli_fname, '/') : NULL;
    used += (size_t)snprintf(text + used, sizeof text - used, " %s", name ? name + 1 : "?");
  }
  text[used++] = '\n';
  if (write(2, text, used) < 0) _exit(1);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void await_finalizing(void) {
  int (*finalizing)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
  if (!finalizing) finalizing = (int (*)(void))dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");  // before 3.13
  while (!finalizing()) usleep(1000);
}

__attribute__((constructor)) static void install(void) {
  void* first[1];
  backtrace(first, 1);  // loads the unwinder, which a handler must not
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = report;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, NULL);
}
