#include "process_counters.h"

#include <dirent.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "../objects/devices/device.h"
#include "../system/clock.h"

namespace anyzero {

namespace {

constexpr MetricRow kTime = {"Time", "Time between begin and end", ZET_METRIC_TYPE_DURATION, "nanoseconds", "device"};

constexpr MetricRow counted(const char* name, const char* description) {
  return {name, description, ZET_METRIC_TYPE_EVENT, "events", "process"};
}

constexpr MetricRow kProcessorRows[] = {
    kTime,
    counted("Instructions", "Instructions of the process's threads"),
    counted("Cycles", "Processor cycles of the process's threads"),
    counted("CacheReferences", "Accesses of the last-level cache"),
    counted("CacheMisses", "Accesses that missed the last-level cache"),
    counted("BranchMisses", "Branches that were predicted wrongly"),
};
constexpr CountedEvent kProcessorEvents[] = {
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false},     {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, false}, {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, false},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, false},
};

constexpr MetricRow kSystemRows[] = {
    kTime,
    {"TaskClock", "Time that the process's threads ran", ZET_METRIC_TYPE_DURATION, "nanoseconds", "process"},
    counted("ContextSwitches", "Context switches of the process's threads"),
    counted("Migrations", "Moves of the process's threads to another processor"),
    counted("MinorPageFaults", "Page faults without a read from disk"),
    counted("MajorPageFaults", "Page faults with a read from disk"),
};
constexpr CountedEvent kSystemEvents[] = {
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true},      {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, true},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, true},  {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, true},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, true},
};

// A file that counts an event of a thread and of the threads that it starts; -1 with errno.
int open_counter(const CountedEvent& event, pid_t thread) {
  perf_event_attr wanted = {};
  wanted.size = sizeof wanted;
  wanted.type = event.type;
  wanted.config = event.config;
  wanted.exclude_kernel = !event.kernel;
  wanted.exclude_hv = 1;
  wanted.inherit = 1;
  wanted.inherit_thread = 1;  // and not of other processes
  wanted.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(syscall(SYS_perf_event_open, &wanted, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

// The count, extrapolated where the processor had too few counters for all events at once.
uint64_t read_counter(int file) {
  struct {
    uint64_t value, enabled, running;
  } found;
  if (read(file, &found, sizeof found) != sizeof found || !found.running) return 0;
  if (found.running == found.enabled) return found.value;
  return static_cast<uint64_t>(static_cast<double>(found.value) * static_cast<double>(found.enabled) /
                               static_cast<double>(found.running));
}

std::vector<pid_t> own_threads() {
  std::vector<pid_t> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/task"), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr)
    if (const int thread = std::atoi(entry->d_name); thread > 0) found.push_back(thread);
  return found;
}

}  // namespace

const CounterTable kProcessorTable = {"Processor", "Counters of the processor, for all threads of the process", kProcessorRows,
                                      kProcessorEvents};
const CounterTable kSystemTable = {"System", "Counters of the system, for all threads of the process", kSystemRows, kSystemEvents};

ProcessCounters::~ProcessCounters() { close_all(); }

void ProcessCounters::close_all() {
  for (int file : files_) close(file);
  files_.clear();
}

bool ProcessCounters::available() const {
  for (const CountedEvent& event : table_.events) {
    const int file = open_counter(event, 0);
    if (file < 0) return false;
    close(file);
  }
  return true;
}

bool ProcessCounters::start() {
  std::lock_guard lock(mutex_);
  if (users_) return ++users_;
  for (pid_t thread : own_threads()) {
    for (const CountedEvent& event : table_.events) {
      const int file = open_counter(event, thread);
      if (file >= 0) {
        files_.push_back(file);
      } else if (errno != ESRCH) {  // else the thread has ended
        close_all();
        return false;
      } else {
        break;
      }
    }
    // A thread that ended in between has only some of its files, and counts nothing any more.
    while (files_.size() % table_.events.size()) {
      close(files_.back());
      files_.pop_back();
    }
  }
  users_ = 1;
  return true;
}

void ProcessCounters::stop() {
  std::lock_guard lock(mutex_);
  if (--users_ == 0) close_all();
}

void ProcessCounters::take(Device&, Snapshot* to) {
  *to = {{now_ns()}};
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < files_.size(); ++i) to->values[1 + i % table_.events.size()] += read_counter(files_[i]);
}

}  // namespace anyzero
