#include "snapshot.h"

#include <sys/resource.h>

#include <ctime>

#include "../exec/engine.h"
#include "../objects/devices/device.h"
#include "../system/clock.h"

namespace anyzero {

namespace {

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

}  // namespace

Snapshot take_snapshot(Device& device) {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  const uint64_t now = now_ns();
  return {now, busy_until(device, now), processor_time_ns(), static_cast<uint64_t>(used.ru_minflt + used.ru_majflt),
          static_cast<uint64_t>(used.ru_nvcsw + used.ru_nivcsw)};
}

}  // namespace anyzero
