// Layer times of a graph, stored by inferences for later queries.
#pragma once

#include <string>
#include <vector>

#include "../abi/gen/ze_npu_ext.h"
#include "../abi/handle.h"
#include "../system/mutex.h"
#include "compiled_graph.h"

namespace anyzero {

class InferenceGraph;

// Threading: any thread.
class ProfilingPool : public Object<ProfilingPool, Kind::ProfilingPool> {
 public:
  static ze_result_t create(InferenceGraph& graph, uint32_t count, ze_graph_profiling_pool_handle_t* handle);
  ze_result_t destroy();

  uint32_t count() const { return count_; }
  ProfilingPool(InferenceGraph& graph, uint32_t count);
  ~ProfilingPool();

 private:
  Ref<InferenceGraph> graph_;
  uint32_t count_;
};

// Threading: any thread.
class ProfilingQuery : public Object<ProfilingQuery, Kind::ProfilingQuery> {
 public:
  static ze_result_t create(ProfilingPool& pool, uint32_t index, ze_graph_profiling_query_handle_t* handle);
  ze_result_t destroy();
  ze_result_t getData(ze_graph_profiling_type_t type, uint32_t* size, uint8_t* data);
  ze_result_t getLog(uint32_t* size, char* text);

  void keep(std::vector<LayerTime> layers);

  explicit ProfilingQuery(ProfilingPool& pool) : pool_(&pool) {}

 private:
  Ref<ProfilingPool> pool_;
  Guarded<std::vector<LayerTime>> layers_;  // of the last inference
};

}  // namespace anyzero
