// Values of all counters of a device and of the process at one moment.
#pragma once

#include <cstdint>

namespace anyzero {

class Device;

// The raw data of a query is two of these, one behind the other: at its begin and at its end.
struct Snapshot {
  uint64_t time = 0;            // nanoseconds; 0 where none was taken
  uint64_t busy = 0;            // nanoseconds that the device's engines have worked, all together
  uint64_t processor_time = 0;  // nanoseconds that all threads of the process have run
  uint64_t page_faults = 0;
  uint64_t context_switches = 0;
};

Snapshot take_snapshot(Device& device);

}  // namespace anyzero
