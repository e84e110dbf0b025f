#include "thread_clock.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "../system/clock.h"

namespace anyzero {

namespace {

std::atomic<void (*)(void*)> taker{nullptr};
int chosen = 0;  // the signal

void on_tick(int, siginfo_t* info, void* context) {
  const int error = errno;
  if (auto take = taker.load(std::memory_order_acquire)) take(context);
  // A counter in this mode is disabled after each signal, so it is re-enabled.
  if (info->si_code > 0) ioctl(info->si_fd, PERF_EVENT_IOC_REFRESH, 1);
  errno = error;
}

// The highest unused real-time signal. SIGPROF is left to other profilers.
int free_signal() {
  for (int number = SIGRTMAX - 1; number > SIGRTMIN; --number) {
    struct sigaction now;
    if (sigaction(number, nullptr, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL) return number;
  }
  return 0;
}

void let_ticks_through() {
  sigset_t ticks;
  sigemptyset(&ticks);
  sigaddset(&ticks, chosen);
  pthread_sigmask(SIG_UNBLOCK, &ticks, nullptr);
}

}  // namespace

uint64_t thread_time_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

bool install_sample_handler(void (*take)(void* context)) {
  taker.store(take, std::memory_order_release);
  if (chosen) return true;  // never removed: pending signals may arrive late
  const int number = free_signal();
  if (!number) return false;
  struct sigaction action = {};
  action.sa_sigaction = on_tick;
  // The handler uses the alternate signal stack, because a kernel may have overflowed its own, which the fault trap handles.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigfillset(&action.sa_mask);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&action.sa_mask, fault);
  if (sigaction(number, &action, nullptr) != 0) return false;
  chosen = number;
  return true;
}

bool ThreadClock::start_perf(uint64_t rate) {
  perf_event_attr wanted = {};
  wanted.type = PERF_TYPE_SOFTWARE;
  wanted.size = sizeof wanted;
  wanted.config = PERF_COUNT_SW_CPU_CLOCK;
  wanted.freq = 1;
  wanted.sample_freq = rate;
  wanted.disabled = 1;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  const int fd = static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0) return false;
  let_ticks_through();
  const f_owner_ex owner = {F_OWNER_TID, static_cast<pid_t>(syscall(SYS_gettid))};
  if (fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0 && fcntl(fd, F_SETSIG, chosen) == 0 && fcntl(fd, F_SETOWN_EX, &owner) == 0 &&
      ioctl(fd, PERF_EVENT_IOC_REFRESH, 1) == 0) {
    perf_ = fd;
    return true;
  }
  close(fd);
  return false;
}

bool ThreadClock::start_timer(uint64_t rate) {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = chosen;
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) != 0) return false;
  let_ticks_through();
  itimerspec period = {};
  period.it_interval.tv_nsec = period.it_value.tv_nsec = static_cast<long>(1000000000u / rate);
  if (timer_settime(timer_, 0, &period, nullptr) != 0) {
    timer_delete(timer_);
    return false;
  }
  timed_ = true;
  return true;
}

void ThreadClock::stop() {
  if (timed_) timer_delete(timer_);
  if (perf_ >= 0) {
    ioctl(perf_, PERF_EVENT_IOC_DISABLE, 0);
    close(perf_);
  }
  timed_ = false;
  perf_ = -1;
}

}  // namespace anyzero
