#include "other_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "../system/mutex.h"

namespace anyzero {

namespace {

using Threads = std::vector<long>;

Guarded<Threads>& calling() {
  static auto* all = new Guarded<Threads>;  // leaked: threads call and wait while the process exits
  return *all;
}

Guarded<Threads>& waiting() {
  static auto* all = new Guarded<Threads>;
  return *all;
}

Guarded<Threads>& bystanders() {
  static auto* all = new Guarded<Threads>;
  return *all;
}

// All threads of the process; none where the system does not tell.
Threads every_thread() {
  Threads found;
  DIR* threads = opendir("/proc/self/task");
  if (!threads) return found;
  while (const dirent* entry = readdir(threads))
    if (const long thread = std::strtol(entry->d_name, nullptr, 10); thread > 0) found.push_back(thread);
  closedir(threads);
  return found;
}

bool contains(const Threads& threads, long thread) { return std::find(threads.begin(), threads.end(), thread) != threads.end(); }

// A small file about a thread; empty where it is gone or not to be read.
std::string_view read_file(long thread, const char* name, char* text, size_t size) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%ld/%s", thread, name);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  const ssize_t got = read(file, text, size - 1);
  close(file);
  text[got < 0 ? 0 : got] = 0;
  return {text, static_cast<size_t>(got < 0 ? 0 : got)};
}

bool is_ours(long thread) {
  char text[32];
  const std::string_view name = read_file(thread, "comm", text, sizeof text);
  return name.starts_with("az-") || name.starts_with("anyzero-");
}

// The number of times that a thread has slept; 0 where the system does not tell.
unsigned long sleeps(long thread) {
  char text[4096];
  constexpr std::string_view kName = "\nvoluntary_ctxt_switches:";
  const std::string_view status = read_file(thread, "status", text, sizeof text);
  const size_t at = status.find(kName);
  return at == std::string_view::npos ? 0 : std::strtoul(status.data() + at + kName.size(), nullptr, 10);
}

// It sleeps until another thread wakes it up: in a futex without a time limit.
bool sleeps_for_others(long thread) {
  char text[256];
  if (read_file(thread, "syscall", text, sizeof text).empty()) return false;
  long number;
  unsigned long word, operation, value, timeout;
  if (std::sscanf(text, "%ld %lx %lx %lx %lx", &number, &word, &operation, &value, &timeout) != 5) return false;
  return number == SYS_futex && timeout == 0;
}

void note(Guarded<Threads>& threads, bool comes) {
  const long self = syscall(SYS_gettid);
  auto all = threads.open();
  if (comes) {
    all->push_back(self);
  } else if (const auto found = std::find(all->begin(), all->end(), self); found != all->end()) {
    all->erase(found);
  }
}

// Threads that neither wait in a call nor sleep until another one wakes them up would end this: false. Otherwise, how often each
// thread has slept.
bool all_sleep(std::vector<std::pair<long, unsigned long>>* found) {
  const Threads calls = *calling().open(), waits = *waiting().open(), before = *bystanders().open();
  const Threads all = every_thread();
  for (const long thread : all) {
    if (contains(waits, thread) || is_ours(thread) || (contains(before, thread) && !contains(calls, thread))) continue;
    const unsigned long times = sleeps(thread);
    if (!times || !sleeps_for_others(thread)) return false;
    found->emplace_back(thread, times);
  }
  return !all.empty();
}

}  // namespace

void note_calling_thread(bool calls) { note(calling(), calls); }
void note_waiting_thread(bool waits) { note(waiting(), waits); }

void note_bystanders() {
  Threads all = every_thread();
  *bystanders().open() = std::move(all);
}

bool is_asleep(long thread) {
  char text[512];
  const std::string_view stat = read_file(thread, "stat", text, sizeof text);
  const size_t name_end = stat.rfind(')');  // the name may have brackets, too
  return name_end != std::string_view::npos && stat.substr(name_end + 1).starts_with(" S");
}

bool another_thread_may_act() {
  // One after the other may have been asleep while the rest was not: if none has slept again, all were asleep in between.
  std::vector<std::pair<long, unsigned long>> once, again;
  return !all_sleep(&once) || !all_sleep(&again) || once != again;
}

}  // namespace anyzero
