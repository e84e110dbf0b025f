// One execution of a graph as a list records it: an infer request with the arguments that the graph had when it was appended.
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

  // Takes strides from a chain of structures behind an argument, where there are any.
  void read_strides(const void* chain);
};

// Threading: run from any thread, one after the other; set only while no queue has it.
class Inference : public InferenceRun {
 public:
  // `query`, if given, gets the times of each run.
  static ze_result_t make(std::shared_ptr<GraphImage> graph, const std::vector<ArgumentValue>& values, ProfilingQuery* query,
                          Inference** inference);
  // One that computes nothing: a run takes the weights of a weightless graph from where they are then.
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
  std::unique_ptr<Execution> execution_;  // of a weightless graph: from the first run on
  const bool weightless_;
  bool initializes_ = false;
  uint64_t initializations_ = 0;  // of the graph, when the execution was made
  std::vector<ArgumentValue> values_;
  Ref<ProfilingQuery> query_;
};

}  // namespace anyzero
