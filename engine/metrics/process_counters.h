// Counters of perf_event_open over all threads of this process, as metrics.
#pragma once

#include <vector>

#include "../system/mutex.h"
#include "metric_source.h"

namespace anyzero {

// An event as perf_event_open numbers it.
struct CountedEvent {
  uint32_t type;
  uint64_t config;
  bool kernel;  // events in the system's own code count as well
};

struct CounterTable {
  const char* name;
  const char* description;
  std::span<const MetricRow> rows;       // the time first, then one row for each event
  std::span<const CountedEvent> events;  // kMostMetrics - 2 at most
};

// Of the processor: instructions, cycles, caches, branches. Virtual machines and containers often refuse them.
extern const CounterTable kProcessorTable;
// Of the system, which needs no hardware.
extern const CounterTable kSystemTable;

class ProcessCounters : public MetricSource {
 public:
  explicit ProcessCounters(const CounterTable& table) : table_(table) {}
  ~ProcessCounters() override;

  // True if the system lets this thread open all events.
  bool available() const;

  const char* name() const override { return table_.name; }
  const char* description() const override { return table_.description; }
  std::span<const MetricRow> rows() const override { return table_.rows; }
  // Opens the events for all threads; those that they start later are counted with them.
  bool start() override;
  void stop() override;
  void take(Device& device, Snapshot* to) override;

 private:
  void close_all();

  const CounterTable& table_;
  Mutex mutex_;
  uint32_t users_ = 0;
  std::vector<int> files_;  // for each thread one file for each event
};

}  // namespace anyzero
