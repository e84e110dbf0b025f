#include <sys/resource.h>

#include <ctime>

#include "../exec/engine.h"
#include "../objects/devices/device.h"
#include "../system/clock.h"
#include "metric_source.h"

namespace anyzero {

namespace {

constexpr MetricRow kRows[] = {
    {"Time", "Time between begin and end", ZET_METRIC_TYPE_DURATION, "nanoseconds", "device"},
    {"EngineBusyTime", "Time that the device's engines worked, all together", ZET_METRIC_TYPE_DURATION, "nanoseconds", "device"},
    {"ProcessorTime", "Time that all threads of the process ran on processors", ZET_METRIC_TYPE_DURATION, "nanoseconds", "process"},
    {"PageFaults", "Page faults of the process", ZET_METRIC_TYPE_EVENT, "events", "process"},
    {"ContextSwitches", "Context switches of the process's threads", ZET_METRIC_TYPE_EVENT, "events", "process"},
};

uint64_t busy_until(Device& device, uint64_t now) {
  uint64_t sum = 0;
  // Finished rings first: a ring that ends in between is then missed once instead of counted twice.
  for (const Device::Group& group : device.groups())
    for (const auto& engine : group.engines) sum += engine->past_busy();
  device.each_ring([&](const Ring& ring) { sum += ring.busy(now); });
  for (Device* tile : device.tiles()) sum += busy_until(*tile, now);
  return sum;
}

uint64_t processor_time_ns() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

class ExecutionSource : public MetricSource {
 public:
  const char* name() const override { return "Execution"; }
  const char* description() const override { return "Time and work of the device, and what the system counts for the process"; }
  std::span<const MetricRow> rows() const override { return kRows; }

  void take(Device& device, Snapshot* to) override {
    rusage used = {};
    getrusage(RUSAGE_SELF, &used);
    const uint64_t now = now_ns();
    *to = {{now, busy_until(device, now), processor_time_ns(), static_cast<uint64_t>(used.ru_minflt + used.ru_majflt),
            static_cast<uint64_t>(used.ru_nvcsw + used.ru_nivcsw)}};
  }
};

}  // namespace

MetricSource& execution_source() {
  static auto* source = new ExecutionSource;  // leaked: devices are never freed
  return *source;
}

}  // namespace anyzero
