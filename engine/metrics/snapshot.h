// Values of all counters of a device and of the process at one point in time.
#pragma once

#include <cstdint>

namespace anyzero {

class Device;

// The raw data of a query is two consecutive snapshots: at its begin and at its end.
struct Snapshot {
  uint64_t time = 0;            // nanoseconds; 0 if no snapshot was taken
  uint64_t busy = 0;            // busy nanoseconds, summed over the device's engines
  uint64_t processor_time = 0;  // processor time of all threads of the process, in nanoseconds
  uint64_t page_faults = 0;
  uint64_t context_switches = 0;
};

Snapshot take_snapshot(Device& device);

}  // namespace anyzero
