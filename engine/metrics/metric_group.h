// A metric group and its metrics. Each device has one group.
#pragma once

#include <vector>

#include "../abi/handle.h"
#include "../objects/devices/context.h"
#include "../objects/devices/device.h"
#include "snapshot.h"

namespace anyzero {

class MetricGroup;

// Threading: immutable.
class Metric : public Object<Metric, Kind::Metric> {
 public:
  static ze_result_t get(MetricGroup& group, uint32_t* count, zet_metric_handle_t* metrics);
  ze_result_t getProperties(zet_metric_properties_t* properties);

  // Description of a metric, in the order of the calculated values.
  struct Row {
    const char* name;
    const char* description;
    zet_metric_type_t type;
    const char* units;
    uint64_t Snapshot::* value;
  };
  explicit Metric(const Row& row) : row_(row) {}

 private:
  const Row& row_;
};

// Threading: immutable.
class MetricGroup : public Object<MetricGroup, Kind::MetricGroup> {
 public:
  static ze_result_t get(Device& device, uint32_t* count, zet_metric_group_handle_t* groups);
  ze_result_t getProperties(zet_metric_group_properties_t* properties);
  ze_result_t calculateMetricValues(zet_metric_group_calculation_type_t type, size_t size, const uint8_t* data, uint32_t* count,
                                    zet_typed_value_t* values);

  Device& device() const { return device_; }
  const std::vector<Metric*>& metrics() const { return metrics_; }

  explicit MetricGroup(Device& device);

 private:
  Device& device_;
  std::vector<Metric*> metrics_;
};

struct ToolsContext {
  // All counters always run, so activation only checks the arguments.
  static ze_result_t activateMetricGroups(Context& context, Device& device, uint32_t count, MetricGroup* const* groups);
};

}  // namespace anyzero
