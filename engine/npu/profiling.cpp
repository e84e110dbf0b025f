#include "profiling.h"

#include <algorithm>
#include <array>

#include "../abi/error.h"
#include "../objects/modules/text.h"
#include "inference_graph.h"

namespace anyzero {

namespace {

constexpr uint64_t kMicrosecond = 1000;

// The NPU unit for each kind of layer: products and sums over channels and windows run on the multiplier array, data movement on
// the copy engines, and everything else on the vector processors.
constexpr std::array kMultiplied = {"Convolution",
                                    "GroupConvolution",
                                    "ConvolutionBackpropData",
                                    "GroupConvolutionBackpropData",
                                    "Deconvolution",
                                    "BinaryConvolution",
                                    "DeformableConvolution",
                                    "FullyConnected",
                                    "MatMul",
                                    "MaxPool",
                                    "AvgPool",
                                    "Pooling",
                                    "LLMMLP",
                                    "QKVProjection"};
constexpr std::array kMoved = {"Reorder",       "Transpose",   "Concat",       "Concatenation", "Split",
                               "VariadicSplit", "Slice",       "StridedSlice", "Pad",           "Tile",
                               "Broadcast",     "MemoryInput", "Copy",         "MemoryOutput"};

ze_task_execute_type_t executor_of(const LayerTime& layer) {
  auto among = [&](const auto& types) { return std::find(types.begin(), types.end(), layer.type) != types.end(); };
  if (layer.status != LayerTime::Status::Executed) return ZE_TASK_EXECUTE_NONE;
  return among(kMultiplied) ? ZE_TASK_EXECUTE_DPU : among(kMoved) ? ZE_TASK_EXECUTE_DMA : ZE_TASK_EXECUTE_SW;
}

ze_profiling_layer_info layer_record(const LayerTime& layer, uint32_t id, uint64_t start) {
  ze_profiling_layer_info record{};
  put_text(record.name, layer.name);
  put_text(record.layer_type, layer.type);
  record.status = static_cast<ze_layer_status_t>(static_cast<int>(layer.status) + ZE_LAYER_STATUS_NOT_RUN);
  record.start_time_ns = start;
  record.duration_ns = layer.real_us * kMicrosecond;
  record.layer_id = id;
  const ze_task_execute_type_t executor = executor_of(layer);
  (executor == ZE_TASK_EXECUTE_DPU   ? record.dpu_ns
   : executor == ZE_TASK_EXECUTE_DMA ? record.dma_ns
                                     : record.sw_ns) = layer.cpu_us * kMicrosecond;
  return record;
}

ze_profiling_task_info task_record(const LayerTime& layer, uint32_t id, uint64_t start) {
  ze_profiling_task_info record{};
  // Each layer has one task: the kernel that OpenVINO chose for it.
  put_text(record.name, layer.exec_type.empty() ? layer.name : layer.name + "/" + layer.exec_type);
  put_text(record.layer_type, layer.type);
  record.exec_type = executor_of(layer);
  record.start_time_ns = start;
  record.duration_ns = layer.real_us * kMicrosecond;
  record.task_id = record.parent_layer_id = id;
  return record;
}

// Layers run sequentially, so each begins at the end of the previous one.
template <class Record>
std::vector<Record> records(const std::vector<LayerTime>& layers, Record (*make)(const LayerTime&, uint32_t, uint64_t)) {
  std::vector<Record> made;
  uint64_t start = 0;
  for (const LayerTime& layer : layers) {
    made.push_back(make(layer, static_cast<uint32_t>(made.size()), start));
    start += layer.real_us * kMicrosecond;
  }
  return made;
}

template <class Record>
ze_result_t hand_out(const std::vector<Record>& records, uint32_t* size, uint8_t* data) {
  return copy_out(records.data(), records.size() * sizeof(Record), size, data);
}

}  // namespace

ProfilingPool::ProfilingPool(InferenceGraph& graph, uint32_t count) : graph_(&graph), count_(count) {}
ProfilingPool::~ProfilingPool() = default;

ze_result_t ProfilingPool::create(InferenceGraph& graph, uint32_t count, ze_graph_profiling_pool_handle_t* handle) {
  if (count == 0) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "a profiling pool has at least one query");
  if (!graph.image().manifest().profiling())
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the graph was built without profiling; build it with PERF_COUNT=\"YES\"");
  *handle = handle_of<ze_graph_profiling_pool_handle_t>(make(graph, count));
  return ZE_RESULT_SUCCESS;
}

ze_result_t ProfilingPool::destroy() {
  retire();
  return ZE_RESULT_SUCCESS;
}

ze_result_t ProfilingQuery::create(ProfilingPool& pool, uint32_t index, ze_graph_profiling_query_handle_t* handle) {
  if (index >= pool.count())
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "query %u: the profiling pool has only %u queries", index, pool.count());
  *handle = handle_of<ze_graph_profiling_query_handle_t>(make(pool));
  return ZE_RESULT_SUCCESS;
}

ze_result_t ProfilingQuery::destroy() {
  retire();
  return ZE_RESULT_SUCCESS;
}

void ProfilingQuery::keep(std::vector<LayerTime> layers) { layers_.open()->swap(layers); }

ze_result_t ProfilingQuery::getData(ze_graph_profiling_type_t type, uint32_t* size, uint8_t* data) {
  auto layers = layers_.open();
  if (layers->empty()) return fail(ZE_RESULT_NOT_READY, "no inference with this query has completed yet");
  switch (type) {
    case ZE_GRAPH_PROFILING_LAYER_LEVEL:
      return hand_out(records(*layers, layer_record), size, data);
    case ZE_GRAPH_PROFILING_TASK_LEVEL:
      return hand_out(records(*layers, task_record), size, data);
    case ZE_GRAPH_PROFILING_RAW:
      return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "there is no raw profiling data; ask for layers or tasks");
    default:
      return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "unknown profiling type %d", static_cast<int>(type));
  }
}

ze_result_t ProfilingQuery::getLog(uint32_t* size, char* text) {
  if (text && *size) text[0] = 0;
  *size = 1;
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
