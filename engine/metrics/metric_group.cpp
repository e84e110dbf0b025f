#include "metric_group.h"

#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>

#include "../abi/error.h"
#include "../system/mutex.h"

namespace anyzero {

namespace {

constexpr Metric::Row kRows[] = {
    {"Time", "Time between begin and end of the query", ZET_METRIC_TYPE_DURATION, "nanoseconds", &Snapshot::time},
    {"EngineBusyTime", "Time that the device's engines worked, all together", ZET_METRIC_TYPE_DURATION, "nanoseconds",
     &Snapshot::busy},
    {"ProcessorTime", "Time that all threads of the process ran on processors", ZET_METRIC_TYPE_DURATION, "nanoseconds",
     &Snapshot::processor_time},
    {"PageFaults", "Page faults of the process", ZET_METRIC_TYPE_EVENT, "events", &Snapshot::page_faults},
    {"ContextSwitches", "Context switches of the process's threads", ZET_METRIC_TYPE_EVENT, "events", &Snapshot::context_switches},
};

template <size_t N>
void set_text(char (&to)[N], const char* text) {
  std::snprintf(to, N, "%s", text);
}

// The specification's two-call pattern: with a count of 0 the number is returned, else at most as many handles as fit.
template <class Handle, class T>
ze_result_t give(const std::vector<T*>& all, uint32_t* count, Handle* handles) {
  const auto there = static_cast<uint32_t>(all.size());
  if (*count == 0 || *count > there) *count = there;
  for (uint32_t i = 0; handles && i < *count; ++i) handles[i] = handle_of<Handle>(all[i]);
  return ZE_RESULT_SUCCESS;
}

const std::vector<MetricGroup*>& groups_of(Device& device) {
  static auto* all = new Guarded<std::map<const Device*, std::vector<MetricGroup*>>>;  // leaked: devices are never freed
  auto open = all->open();
  std::vector<MetricGroup*>& found = (*open)[&device];
  if (found.empty()) found.push_back(MetricGroup::make(device));
  return found;
}

}  // namespace

ze_result_t Metric::get(MetricGroup& group, uint32_t* count, zet_metric_handle_t* metrics) {
  return give(group.metrics(), count, metrics);
}

ze_result_t Metric::getProperties(zet_metric_properties_t* properties) {
  set_text(properties->name, row_.name);
  set_text(properties->description, row_.description);
  set_text(properties->component, row_.value == &Snapshot::time || row_.value == &Snapshot::busy ? "device" : "process");
  set_text(properties->resultUnits, row_.units);
  properties->tierNumber = 1;
  properties->metricType = row_.type;
  properties->resultType = ZET_VALUE_TYPE_UINT64;
  return ZE_RESULT_SUCCESS;
}

MetricGroup::MetricGroup(Device& device) : device_(device) {
  for (const Metric::Row& row : kRows) metrics_.push_back(Metric::make(row));
}

ze_result_t MetricGroup::get(Device& device, uint32_t* count, zet_metric_group_handle_t* groups) {
  return give(groups_of(device), count, groups);
}

ze_result_t MetricGroup::getProperties(zet_metric_group_properties_t* properties) {
  set_text(properties->name, "Execution");
  set_text(properties->description, "Time and work of the device, and what the system counts for the process");
  properties->samplingType = ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EVENT_BASED;
  properties->domain = 0;
  properties->metricCount = static_cast<uint32_t>(metrics_.size());
  return ZE_RESULT_SUCCESS;
}

ze_result_t MetricGroup::calculateMetricValues(zet_metric_group_calculation_type_t type, size_t size, const uint8_t* data,
                                               uint32_t* count, zet_typed_value_t* values) {
  if (type != ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "these metrics have no maximum; use METRIC_VALUES");
  constexpr size_t kReport = 2 * sizeof(Snapshot);
  if (size == 0 || size % kReport != 0)
    return fail(ZE_RESULT_ERROR_INVALID_SIZE, "%zu bytes of raw data: a report of this group has %zu", size, kReport);
  const size_t all = size / kReport * std::size(kRows);
  if (all > UINT32_MAX) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "%zu values are more than a count can tell", all);
  if (*count == 0 || *count > all) *count = static_cast<uint32_t>(all);
  for (uint32_t i = 0; values && i < *count; ++i) {
    Snapshot at[2];
    std::memcpy(at, data + i / std::size(kRows) * kReport, sizeof at);
    const auto member = kRows[i % std::size(kRows)].value;
    values[i].type = ZET_VALUE_TYPE_UINT64;
    values[i].value.ui64 = at[1].*member - at[0].*member;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t ToolsContext::activateMetricGroups(Context&, Device& device, uint32_t count, MetricGroup* const* groups) {
  for (uint32_t i = 0; i < count; ++i) {
    if (&groups[i]->device() != &device)
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "phMetricGroups[%u] is a group of another device", i);
    if (i) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "phMetricGroups[%u] is of the same domain as another one", i);
  }
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
