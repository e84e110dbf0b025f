// One execution of a graph in a command list: an infer request with the arguments that the graph had at the append.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../abi/gen/ze_npu_ext.h"
#include "../abi/object.h"
#include "../exec/packet.h"
#include "../system/mutex.h"

namespace anyzero {

class Execution;
class GraphImage;
class ProfilingQuery;

// The memory that an argument of a graph is bound to.
struct ArgumentValue {
  void* pointer = nullptr;
  bool strided = false;
  uint32_t strides[ZE_MAX_GRAPH_ARGUMENT_DIMENSIONS_SIZE] = {};  // in elements

  // Reads strides from the pNext chain of an argument, if it has any.
  void read_strides(const void* chain);
};

// Threading: run from any thread, serialized; set only while no queue executes it.
class Inference : public InferenceRun {
 public:
  // `query`, if given, gets the times of each run.
  static ze_result_t make(std::shared_ptr<GraphImage> graph, const std::vector<ArgumentValue>& values, ProfilingQuery* query,
                          Inference** inference);
  // An inference that computes nothing: a run reads the current weights of a weightless graph.
  static ze_result_t make_initialization(std::shared_ptr<GraphImage> graph, const std::vector<ArgumentValue>& values,
                                         Inference** inference);

  ze_result_t set(uint32_t argument, const ArgumentValue& value);
  bool run(char* reason, size_t size) override;
  bool uses(uintptr_t begin, uintptr_t end) const override;
  const char* name() const override;
  uint64_t bytes() const override;

 private:
  Inference(std::shared_ptr<GraphImage> graph, std::unique_ptr<Execution> execution, ProfilingQuery* query);
  ~Inference() override;
  ze_result_t check(uint32_t argument, const ArgumentValue& value) const;
  bool bind(uint32_t argument, const ArgumentValue& value, std::string* reason);
  bool take_weights(std::string* reason);

  std::shared_ptr<GraphImage> graph_;
  Mutex mutex_;
  std::unique_ptr<Execution> execution_;  // of a weightless graph: created by the first run
  const bool weightless_;
  bool initializes_ = false;
  uint64_t initializations_ = 0;  // the graph's count when the execution was created
  std::vector<ArgumentValue> values_;
  Ref<ProfilingQuery> query_;
};

}  // namespace anyzero
