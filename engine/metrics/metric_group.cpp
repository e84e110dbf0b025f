#include "metric_group.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

#include "../abi/error.h"
#include "../system/mutex.h"
#include "process_counters.h"

namespace anyzero {

namespace {

constexpr MetricRow kMarker = {"StreamMarker", "The last marker that a command list has put into the stream", ZET_METRIC_TYPE_RAW,
                               "markers", "stream"};

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

// Those that the system permits; the execution's always.
const std::vector<MetricSource*>& sources() {
  static const auto* found = [] {
    auto* made = new std::vector<MetricSource*>{&execution_source()};
    for (const CounterTable* table : {&kSystemTable, &kProcessorTable}) {
      auto counters = std::make_unique<ProcessCounters>(*table);
      if (counters->available()) made->push_back(counters.release());
    }
    return made;
  }();
  return *found;
}

const std::vector<MetricGroup*>& groups_of(Device& device) {
  static auto* all = new Guarded<std::map<const Device*, std::vector<MetricGroup*>>>;  // leaked: devices are never freed
  auto open = all->open();
  std::vector<MetricGroup*>& found = (*open)[&device];
  if (found.empty())
    for (MetricSource* source : sources()) found.push_back(MetricGroup::make(device, *source, static_cast<uint32_t>(found.size())));
  return found;
}

}  // namespace

ze_result_t Metric::get(MetricGroup& group, uint32_t* count, zet_metric_handle_t* metrics) {
  return give(group.metrics(), count, metrics);
}

ze_result_t Metric::getProperties(zet_metric_properties_t* properties) {
  set_text(properties->name, row_.name);
  set_text(properties->description, row_.description);
  set_text(properties->component, row_.component);
  set_text(properties->resultUnits, row_.units);
  properties->tierNumber = 1;
  properties->metricType = row_.type;
  properties->resultType = ZET_VALUE_TYPE_UINT64;
  return ZE_RESULT_SUCCESS;
}

MetricGroup::MetricGroup(Device& device, MetricSource& source, uint32_t domain)
    : device_(device), source_(source), domain_(domain) {
  for (const MetricRow& row : source.rows()) metrics_.push_back(Metric::make(row));
  metrics_.push_back(Metric::make(kMarker));
}

Snapshot MetricGroup::snapshot() const {
  Snapshot taken;
  source_.take(device_, &taken);
  return taken;
}

ze_result_t MetricGroup::get(Device& device, uint32_t* count, zet_metric_group_handle_t* groups) {
  return give(groups_of(device), count, groups);
}

ze_result_t MetricGroup::getProperties(zet_metric_group_properties_t* properties) {
  set_text(properties->name, source_.name());
  set_text(properties->description, source_.description());
  properties->samplingType = ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EVENT_BASED | ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED;
  properties->domain = domain_;
  properties->metricCount = static_cast<uint32_t>(metrics_.size());
  return ZE_RESULT_SUCCESS;
}

ze_result_t MetricGroup::calculateMetricValues(zet_metric_group_calculation_type_t type, size_t size, const uint8_t* data,
                                               uint32_t* count, zet_typed_value_t* values) {
  if (type != ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "these metrics have no maximum; use METRIC_VALUES");
  if (size == 0 || size % sizeof(Report) != 0)
    return fail(ZE_RESULT_ERROR_INVALID_SIZE, "%zu bytes of raw data: a report has %zu", size, sizeof(Report));
  const size_t all = size / sizeof(Report) * metrics_.size();
  if (all > UINT32_MAX) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "%zu values are more than a count can tell", all);
  if (*count == 0 || *count > all) *count = static_cast<uint32_t>(all);
  for (uint32_t i = 0; values && i < *count; ++i) {
    Report report;
    std::memcpy(&report, data + i / metrics_.size() * sizeof report, sizeof report);
    const size_t metric = i % metrics_.size();
    values[i].type = ZET_VALUE_TYPE_UINT64;
    const uint64_t begin = metric == marker() ? 0 : report.begin.values[metric], end = report.end.values[metric];
    values[i].value.ui64 = end > begin ? end - begin : 0;  // extrapolated counts may go back a little
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t ToolsContext::activateMetricGroups(Context&, Device& device, uint32_t count, MetricGroup* const* groups) {
  for (uint32_t i = 0; i < count; ++i) {
    if (&groups[i]->device() != &device)
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "phMetricGroups[%u] is a group of another device", i);
    for (uint32_t before = 0; before < i; ++before)
      if (groups[before]->domain() == groups[i]->domain())
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "phMetricGroups[%u] is of the same domain as another one", i);
  }
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
