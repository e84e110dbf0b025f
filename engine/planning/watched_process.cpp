#include "watched_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

namespace anyzero {

namespace {

WatchedProcess::Account read_account(const std::string& folder) {
  char text[1024];
  const int file = open((folder + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  text[size > 0 ? size : 0] = '\0';
  // The name of the program comes before, and may hold anything.
  const char* rest = std::strrchr(text, ')');
  WatchedProcess::Account found;
  unsigned long long minor = 0, major = 0, user = 0, system = 0, threads = 0, start = 0;
  if (!rest || std::sscanf(rest + 1, " %c %*d %*d %*d %*d %*d %*u %llu %*u %llu %*u %llu %llu %*d %*d %*d %*d %llu %*d %llu",
                           &found.state, &minor, &major, &user, &system, &threads, &start) != 7)
    return {};
  found.faults = minor + major;
  found.ticks = user + system;
  found.threads = threads;
  found.start = start;
  return found;
}

}  // namespace

WatchedProcess::WatchedProcess(pid_t number) : number_(number), start_(account().start) {}

WatchedProcess::Account WatchedProcess::account() const {
  const std::string folder = "/proc/" + std::to_string(number_);
  Account found = read_account(folder);
  // The kernel counts for all threads together, but the state is that of the first.
  std::unique_ptr<DIR, int (*)(DIR*)> threads(found.state == 'S' ? opendir((folder + "/task").c_str()) : nullptr, closedir);
  while (const dirent* each = threads ? readdir(threads.get()) : nullptr) {
    if (each->d_name[0] == '.') continue;
    const char state = read_account(folder + "/task/" + each->d_name).state;
    if (state == 'R' || (state == 'D' && found.state != 'R')) found.state = state;
  }
  return found;
}

void WatchedProcess::kill() const {
  if (number_ <= 0) return;
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_send_signal)
  // The descriptor refers to the process that has the id now, so the check that follows is about the same process.
  const auto descriptor = static_cast<int>(syscall(SYS_pidfd_open, number_, 0));
  if (descriptor >= 0) {
    if (account().start == start_) syscall(SYS_pidfd_send_signal, descriptor, SIGKILL, nullptr, 0);
    close(descriptor);
    return;
  }
#endif
  if (start_ && account().start == start_) ::kill(number_, SIGKILL);
}

Vigil::Verdict Vigil::pass(uint64_t slice_ms) {
  if (!limit_ms_) return Verdict::Alive;
  const WatchedProcess::Account now = process_.account();
  const bool stopped = now.state == 'T';
  if (stopped || (now.state == 'S' && now == last_))
    silent_ms_ += slice_ms;
  else
    silent_ms_ = 0;
  last_ = now;
  if (silent_ms_ < limit_ms_) return Verdict::Alive;
  return stopped ? Verdict::Stopped : Verdict::Silent;
}

}  // namespace anyzero
