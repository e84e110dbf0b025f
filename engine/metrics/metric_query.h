// Queries of a metric group on command lists: the difference between two snapshots.
#pragma once

#include <vector>

#include "../objects/commands/command_list.h"
#include "metric_group.h"

namespace anyzero {

class MetricQuery;
class MetricStreamer;

// Threading: any thread, one at a time for queries of the same index.
class MetricQueryPool : public Object<MetricQueryPool, Kind::MetricQueryPool> {
 public:
  static ze_result_t create(Context& context, Device& device, MetricGroup& group, const zet_metric_query_pool_desc_t* desc,
                            zet_metric_query_pool_handle_t* handle);
  ze_result_t destroy();

  uint32_t count() const { return count_; }
  MetricGroup& group() const { return *group_; }

  MetricQueryPool(Context& context, MetricGroup& group, uint32_t count) : context_(&context), group_(group), count_(count) {}

 private:
  Ref<Context> context_;
  CountingGroup group_;
  const uint32_t count_;
};

// Threading: commands write it, the host reads it; the end is published last.
class MetricQuery : public Object<MetricQuery, Kind::MetricQuery> {
 public:
  static ze_result_t create(MetricQueryPool& pool, uint32_t index, zet_metric_query_handle_t* handle);
  ze_result_t destroy();
  ze_result_t reset();
  ze_result_t getData(size_t* size, uint8_t* data);

  void begin();
  void end();

  explicit MetricQuery(MetricQueryPool& pool) : pool_(&pool) {}

 private:
  Ref<MetricQueryPool> pool_;
  Report report_;
  std::atomic<bool> complete_{false};
};

struct ToolsCommandList {
  static ze_result_t appendMetricQueryBegin(CommandList& list, MetricQuery& query);
  // The specification reserves the wait events: there must be none.
  static ze_result_t appendMetricQueryEnd(CommandList& list, MetricQuery& query, Event* signal, uint32_t n,
                                          ze_event_handle_t* waits);
  // The engine's thread ends a report at this point of the list; reports that follow have the marker.
  static ze_result_t appendMetricStreamerMarker(CommandList& list, MetricStreamer& streamer, uint32_t value);
  // Snapshots are written before the list continues.
  static ze_result_t appendMetricMemoryBarrier(CommandList& list);
};

}  // namespace anyzero
