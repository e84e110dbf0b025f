// Metric groups of devices, and their metrics.
#pragma once

#include <vector>

#include "../abi/handle.h"
#include "../objects/devices/context.h"
#include "../objects/devices/device.h"
#include "metric_source.h"

namespace anyzero {

class MetricGroup;

// Threading: immutable.
class Metric : public Object<Metric, Kind::Metric> {
 public:
  static ze_result_t get(MetricGroup& group, uint32_t* count, zet_metric_handle_t* metrics);
  ze_result_t getProperties(zet_metric_properties_t* properties);

  explicit Metric(const MetricRow& row) : row_(row) {}

 private:
  const MetricRow& row_;
};

// Threading: immutable.
class MetricGroup : public Object<MetricGroup, Kind::MetricGroup> {
 public:
  static ze_result_t get(Device& device, uint32_t* count, zet_metric_group_handle_t* groups);
  ze_result_t getProperties(zet_metric_group_properties_t* properties);
  ze_result_t calculateMetricValues(zet_metric_group_calculation_type_t type, size_t size, const uint8_t* data, uint32_t* count,
                                    zet_typed_value_t* values);

  Device& device() const { return device_; }
  uint32_t domain() const { return domain_; }
  const std::vector<Metric*>& metrics() const { return metrics_; }
  // The last metric, behind those of the source.
  size_t marker() const { return metrics_.size() - 1; }
  Snapshot snapshot() const;

  MetricGroup(Device& device, MetricSource& source, uint32_t domain);

 private:
  friend class CountingGroup;

  Device& device_;
  MetricSource& source_;
  const uint32_t domain_;
  std::vector<Metric*> metrics_;
};

// A group whose counters run as long as this exists.
class CountingGroup {
 public:
  explicit CountingGroup(MetricGroup& group) : group_(group), counting_(group.source_.start()) {}
  ~CountingGroup() {
    if (counting_) group_.source_.stop();
  }
  CountingGroup(const CountingGroup&) = delete;
  CountingGroup& operator=(const CountingGroup&) = delete;

  // False if the system refuses to count.
  bool counting() const { return counting_; }
  MetricGroup& operator*() const { return group_; }
  MetricGroup* operator->() const { return &group_; }

 private:
  MetricGroup& group_;
  const bool counting_;
};

struct ToolsContext {
  // Queries and streams start the counters of their group, so activation only checks the arguments.
  static ze_result_t activateMetricGroups(Context& context, Device& device, uint32_t count, MetricGroup* const* groups);
};

}  // namespace anyzero
