#include "metric_query.h"

#include <cstring>

#include "../abi/error.h"
#include "metric_stream.h"

namespace anyzero {

namespace {

// A query may be destroyed before its commands run, so its handle is checked again.
void begin_query(void* handle) {
  if (auto* query = checked<MetricQuery>(handle)) query->begin();
}

void end_query(void* handle) {
  if (auto* query = checked<MetricQuery>(handle)) query->end();
}

}  // namespace

ze_result_t MetricQueryPool::create(Context& context, Device& device, MetricGroup& group, const zet_metric_query_pool_desc_t* desc,
                                    zet_metric_query_pool_handle_t* handle) {
  if (&group.device() != &device) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "hMetricGroup is a group of another device");
  if (desc->type != ZET_METRIC_QUERY_POOL_TYPE_PERFORMANCE)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "pools of type EXECUTION skip commands, which is not supported");
  if (desc->count == 0) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "a pool of no queries");
  MetricQueryPool* pool = make(context, group, desc->count);
  if (!pool->group_.counting()) {
    pool->retire();
    return fail(ZE_RESULT_ERROR_NOT_AVAILABLE, "the system no longer lets the process open the counters of this group");
  }
  *handle = handle_of<zet_metric_query_pool_handle_t>(pool);
  return ZE_RESULT_SUCCESS;
}

ze_result_t MetricQueryPool::destroy() {
  retire();
  return ZE_RESULT_SUCCESS;
}

ze_result_t MetricQuery::create(MetricQueryPool& pool, uint32_t index, zet_metric_query_handle_t* handle) {
  if (index >= pool.count()) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "query %u of a pool of %u", index, pool.count());
  *handle = handle_of<zet_metric_query_handle_t>(make(pool));
  return ZE_RESULT_SUCCESS;
}

ze_result_t MetricQuery::destroy() {
  retire();
  return ZE_RESULT_SUCCESS;
}

ze_result_t MetricQuery::reset() {
  complete_.store(false, std::memory_order_release);
  report_ = {};
  return ZE_RESULT_SUCCESS;
}

ze_result_t MetricQuery::getData(size_t* size, uint8_t* data) {
  if (!complete_.load(std::memory_order_acquire)) return ZE_RESULT_NOT_READY;
  if (*size == 0 || !data) {
    *size = sizeof report_;
    return ZE_RESULT_SUCCESS;
  }
  if (*size < sizeof report_)
    return fail(ZE_RESULT_ERROR_INVALID_SIZE, "room for %zu bytes: a report has %zu", *size, sizeof report_);
  *size = sizeof report_;
  std::memcpy(data, &report_, sizeof report_);
  return ZE_RESULT_SUCCESS;
}

void MetricQuery::begin() {
  complete_.store(false, std::memory_order_relaxed);
  report_.begin = pool_->group().snapshot();
}

void MetricQuery::end() {
  report_.end = pool_->group().snapshot();
  if (report_.begin.values[0] == 0) report_.begin = report_.end;  // an end without a begin measures nothing
  complete_.store(true, std::memory_order_release);
}

ze_result_t ToolsCommandList::appendMetricQueryBegin(CommandList& list, MetricQuery& query) {
  return list.appendHostFunction(begin_query, handle_of<zet_metric_query_handle_t>(&query), nullptr, nullptr, 0, nullptr);
}

ze_result_t ToolsCommandList::appendMetricQueryEnd(CommandList& list, MetricQuery& query, Event* signal, uint32_t n,
                                                   ze_event_handle_t* waits) {
  if (n || waits) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the end of a query takes no wait events; pass 0 and NULL");
  return list.appendHostFunction(end_query, handle_of<zet_metric_query_handle_t>(&query), nullptr, signal, 0, nullptr);
}

ze_result_t ToolsCommandList::appendMetricStreamerMarker(CommandList& list, MetricStreamer& streamer, uint32_t value) {
  return list.appendHostFunction(MetricStream::mark, streamer.stream().marker(value), nullptr, nullptr, 0, nullptr);
}

ze_result_t ToolsCommandList::appendMetricMemoryBarrier(CommandList& list) { return list.appendBarrier(nullptr, 0, nullptr); }

}  // namespace anyzero
