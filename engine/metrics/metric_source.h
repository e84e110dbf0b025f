// Where a metric group's values come from.
#pragma once

#include <span>

#include "../abi/gen/ze_api.h"
#include "snapshot.h"

namespace anyzero {

class Device;

// Description of a metric, in the order of the calculated values.
struct MetricRow {
  const char* name;
  const char* description;
  zet_metric_type_t type;
  const char* units;
  const char* component;
};

// Threading: any thread.
class MetricSource {
 public:
  virtual ~MetricSource() = default;

  virtual const char* name() const = 0;
  virtual const char* description() const = 0;
  virtual std::span<const MetricRow> rows() const = 0;

  // Counting begins with the first of several users. False if the system refuses.
  virtual bool start() { return true; }
  virtual void stop() {}
  // Fills in the values of all rows, in their order.
  virtual void take(Device& device, Snapshot* to) = 0;
};

// Time and work of a device, and what the system counts for the process in any case.
MetricSource& execution_source();

}  // namespace anyzero
