#include "spawn.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "../system/descriptor.h"
#include "../system/signal.h"

namespace anyzero {

namespace {

constexpr int kSocket = 3;
constexpr size_t kStack = size_t{64} << 10;

// The state of the new processes. They share our memory until the program starts, while this thread waits; so they allocate
// nothing, take no locks and run no handlers of the host.
struct Birth {
  char* const* arguments;
  char* const* environment;
  int socket;
  char* stack;  // for the second process; it grows down from here
  volatile int error;
  volatile pid_t program;
  std::atomic<uint32_t> over{0};  // for a process in between that stays
};

// A process that shares our memory while our threads run must not use errno, or anything else that is thread-local.
[[gnu::always_inline]] inline long raw_call(long number, long a, long b = 0, long c = 0, long d = 0) {
  long result;
  register long fourth asm("r10") = d;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
  return result;
}

void close_from(int first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
#endif
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int last = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 16));
  for (int each = first; each < last; ++each) close(each);
}

// execve resets handlers, but ignored signals would stay ignored.
void forget_signals() {
  // The kernel's own structure, which is all zero for the default. The C library would leave out the signals it keeps to itself.
  constexpr size_t kMask = 8;
  const unsigned char action[64] = {};
  for (int number = 1; number < NSIG; ++number) syscall(SYS_rt_sigaction, number, action, nullptr, kMask);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool arrange_descriptors(int socket) {
  const int null = open("/dev/null", O_RDWR);
  if (null < 0) return false;
  // The host may have closed its standard error, and then the number may even be the one we just got.
  if (null != STDERR_FILENO && fcntl(STDERR_FILENO, F_GETFD) < 0 && dup2(null, STDERR_FILENO) < 0) return false;
  if (null != STDIN_FILENO && dup2(null, STDIN_FILENO) < 0) return false;
  if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return false;
  if (socket == kSocket ? fcntl(socket, F_SETFD, 0) < 0 : dup2(socket, kSocket) < 0) return false;
  close_from(kSocket + 1);
  return true;
}

int become_the_program(void* argument) {
  auto& birth = *static_cast<Birth*>(argument);
  setsid();
  // A compiler must not inherit real-time scheduling of the host.
  sched_param ordinary = {};
  if (const int policy = sched_getscheduler(0); policy == SCHED_FIFO || policy == SCHED_RR)
    sched_setscheduler(0, SCHED_OTHER, &ordinary);
  if (arrange_descriptors(birth.socket)) {
    forget_signals();
    execve(birth.arguments[0], birth.arguments, birth.environment);
  }
  birth.error = errno;
  _exit(127);
}

// The process in between. It ends at once, and what it started belongs to init; had the program been our own child, its end would
// have become a SIGCHLD, whatever signal we ask for: execve sets that back.
int start_the_program(void* argument) {
  auto& birth = *static_cast<Birth*>(argument);
  birth.program = clone(become_the_program, birth.stack, CLONE_VM | CLONE_VFORK | SIGCHLD, argument);
  if (birth.program < 0) birth.error = errno;
  _exit(0);
}

// The same for a host that would have to adopt the program, because it does what init does: this process stays as its parent. All
// of our signals are blocked in it, and wait() does not find it either.
int stay_with_the_program(void* argument) {
  auto& birth = *static_cast<Birth*>(argument);
  setsid();
  const pid_t program = clone(become_the_program, birth.stack, CLONE_VM | CLONE_VFORK | SIGCHLD, argument);
  birth.program = program;
  if (program < 0) birth.error = errno;
  close_from(0);
  raw_call(SYS_prctl, PR_SET_NAME, reinterpret_cast<long>("anyzero-parent"));
  birth.over.store(1, std::memory_order_release);
  raw_call(SYS_futex, reinterpret_cast<long>(&birth.over), FUTEX_WAKE_PRIVATE, 1);  // whether or not it is still there
  while (program > 0 && raw_call(SYS_wait4, program, 0, __WALL) == -EINTR) {
  }
  for (;;) raw_call(SYS_exit_group, 0);
}

bool adopts_orphans() {
  int adopts = 0;
  prctl(PR_GET_CHILD_SUBREAPER, &adopts);
  return adopts || getpid() == 1;
}

// Not 0, 1 or 2: a host may have closed its standard descriptors, and reuse their numbers.
bool move_up(int& descriptor) {
  descriptor = behind_streams(descriptor);
  return descriptor >= 0;
}

// Waits until the process in between is done, or has been killed.
void await(Birth& birth, pid_t between) {
  constexpr uint64_t kLook = 100'000'000;
  while (!birth.over.load(std::memory_order_acquire)) {
    FutexWord word{&birth.over, 0};
    futex_sleep_any(&word, 1, kLook);
    if (!birth.over.load(std::memory_order_acquire) && waitpid(between, nullptr, __WCLONE | WNOHANG) == between) {
      birth.error = ECHILD;
      return;
    }
  }
}

int give_birth(Birth& birth) {
  void* stacks = mmap(nullptr, 2 * kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stacks == MAP_FAILED) return errno;
  birth.stack = static_cast<char*>(stacks) + kStack;
  const bool stays = adopts_orphans();
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  // No exit signal: not even the process in between is one that wait() finds.
  const pid_t between = clone(stays ? stay_with_the_program : start_the_program, static_cast<char*>(stacks) + 2 * kStack,
                              stays ? CLONE_VM : CLONE_VM | CLONE_VFORK, &birth);
  const int error = between < 0 ? errno : 0;
  if (between > 0 && stays) {
    static std::atomic<pid_t> earlier{0};
    await(birth, between);
    // The parent of one that has died is gone as well, and no other process reaps it.
    if (const pid_t gone = earlier.exchange(between)) waitpid(gone, nullptr, __WCLONE | WNOHANG);
  }
  while (between > 0 && !stays && waitpid(between, nullptr, __WCLONE) < 0 && errno == EINTR) {
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  if (!stays || between < 0) munmap(stacks, 2 * kStack);  // a process that stays uses it as its stack
  return error ? error : birth.error;
}

}  // namespace

int spawn_unnoticed(const std::vector<std::string>& arguments, char* const* environment, pid_t* process, std::string* reason) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
    *reason = std::string("no socket: ") + std::strerror(errno);
    return -1;
  }
  const bool moved = move_up(ends[0]) & move_up(ends[1]);
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  Birth birth = {pointers.data(), environment, ends[1], nullptr, 0, 0, 0};
  const int error = moved ? give_birth(birth) : EMFILE;
  if (ends[1] >= 0) close(ends[1]);
  *process = birth.program;
  if (!error) return ends[0];
  if (ends[0] >= 0) close(ends[0]);
  *reason = arguments[0] + ": " + std::strerror(error);
  return -1;
}

}  // namespace anyzero
