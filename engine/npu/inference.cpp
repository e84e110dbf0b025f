#include "inference.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <string>

#include "../abi/error.h"
#include "../abi/properties.h"
#include "../trace/recording.h"
#include "compiled_graph.h"
#include "graph_image.h"
#include "graph_record.h"
#include "profiling.h"

namespace anyzero {

void ArgumentValue::read_strides(const void* chain) {
  const auto* given =
      static_cast<const ze_graph_argument_value_strides_t*>(find_next(chain, ZE_STRUCTURE_TYPE_GRAPH_ARGUMENT_STRIDES));
  strided = given != nullptr;
  if (given) std::copy_n(given->userStrides, ZE_MAX_GRAPH_ARGUMENT_DIMENSIONS_SIZE, strides);
}

Inference::Inference(std::shared_ptr<GraphImage> graph, std::unique_ptr<Execution> execution, ProfilingQuery* query)
    : graph_(std::move(graph)),
      execution_(std::move(execution)),
      weightless_(graph_->manifest().weightless()),
      values_(graph_->arguments().size()),
      query_(query) {}

Inference::~Inference() = default;

ze_result_t Inference::make(std::shared_ptr<GraphImage> graph, const std::vector<ArgumentValue>& values, ProfilingQuery* query,
                            Inference** inference) {
  std::unique_ptr<Execution> execution;
  if (!graph->manifest().weightless()) {
    std::shared_ptr<CompiledGraph> compiled;
    if (ze_result_t r = graph->compiled(&compiled)) return r;
    std::string reason;
    execution = compiled->prepare(&reason);
    if (!execution) return fail(ZE_RESULT_ERROR_UNKNOWN, "OpenVINO cannot create an infer request: %s", reason.c_str());
  }
  auto made = std::unique_ptr<Inference, void (*)(Inference*)>(new Inference(std::move(graph), std::move(execution), query),
                                                               [](Inference* one) { one->release(); });
  for (uint32_t i = 0; i < values.size(); ++i)
    if (ze_result_t r = made->set(i, values[i])) return r;
  *inference = made.release();
  return ZE_RESULT_SUCCESS;
}

ze_result_t Inference::make_initialization(std::shared_ptr<GraphImage> graph, const std::vector<ArgumentValue>& values,
                                           Inference** inference) {
  auto made = std::unique_ptr<Inference, void (*)(Inference*)>(new Inference(std::move(graph), nullptr, nullptr),
                                                               [](Inference* one) { one->release(); });
  made->initializes_ = true;
  for (uint32_t i = 0; i < values.size(); ++i) {
    if (made->graph_->arguments()[i].role != GraphRole::Weights) continue;
    if (ze_result_t r = made->check(i, values[i])) return r;
    made->values_[i] = values[i];
  }
  *inference = made.release();
  return ZE_RESULT_SUCCESS;
}

ze_result_t Inference::check(uint32_t argument, const ArgumentValue& value) const {
  if (argument >= values_.size())
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "argument %u: the graph has only %zu arguments", argument, values_.size());
  const GraphArgument& about = graph_->arguments()[argument];
  if (!value.pointer)
    return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "argument %u (%s) of the graph has no value", argument, about.name.c_str());
  if (value.strided && about.role == GraphRole::Weights)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "argument %u (%s) of the graph: weights must be packed", argument,
                about.name.c_str());
  return ZE_RESULT_SUCCESS;
}

bool Inference::bind(uint32_t argument, const ArgumentValue& value, std::string* reason) {
  uint32_t bytes[ZE_MAX_GRAPH_ARGUMENT_DIMENSIONS_SIZE];
  const uint32_t element = element_bits(graph_->arguments()[argument].element_type) / 8;
  std::transform(value.strides, std::end(value.strides), bytes, [&](uint32_t stride) { return stride * element; });
  return execution_->bind(argument, value.pointer, value.strided ? bytes : nullptr, reason);
}

ze_result_t Inference::set(uint32_t argument, const ArgumentValue& value) {
  if (ze_result_t r = check(argument, value)) return r;
  std::string reason;
  std::lock_guard lock(mutex_);
  if (execution_ && !bind(argument, value, &reason))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "argument %u (%s) of the graph: %s", argument,
                graph_->arguments()[argument].name.c_str(), reason.c_str());
  // A change of weights needs another compiled model.
  if (graph_->arguments()[argument].role == GraphRole::Weights) execution_.reset();
  values_[argument] = value;
  return ZE_RESULT_SUCCESS;
}

// Weightless graph: compiles it with the current weights, unless that is done.
bool Inference::take_weights(std::string* reason) {
  if (execution_ && graph_->initializations() == initializations_) return true;
  execution_.reset();
  std::shared_ptr<CompiledGraph> compiled;
  initializations_ = graph_->initializations();  // read before compiling: a concurrent initialization makes this outdated
  if (graph_->compiled_with(values_, initializes_, &compiled, reason)) return false;
  if (initializes_) return true;
  execution_ = compiled->prepare(reason);
  for (uint32_t i = 0; execution_ && i < values_.size(); ++i)
    if (!bind(i, values_[i], reason)) execution_.reset();
  return execution_ != nullptr;
}

bool Inference::run(char* reason, size_t size) {
  std::lock_guard lock(mutex_);
  std::string why;
  const auto failed = [&] {
    std::snprintf(reason, size, "%s", why.c_str());
    return false;
  };
  if (weightless_ && !take_weights(&why)) return failed();
  if (initializes_) return true;
  const uint64_t start = is_recording() ? ticks() : 0;
  if (!execution_->run(&why)) return failed();
  const bool recorded = start && graph_->manifest().profiling();
  if (!query_ && !recorded) return true;
  const uint64_t end = ticks();
  std::vector<LayerTime> layers = execution_->layers();
  if (recorded) record_layers(layers, start, end);
  if (query_) query_->keep(std::move(layers));
  return true;
}

bool Inference::uses(uintptr_t begin, uintptr_t end) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    const auto first = reinterpret_cast<uintptr_t>(values_[i].pointer);
    if (first < end && begin < first + graph_->arguments()[i].bytes) return true;
  }
  return false;
}

const char* Inference::name() const { return graph_->manifest().model_name.c_str(); }

uint64_t Inference::bytes() const {
  uint64_t sum = 0;
  for (const GraphArgument& argument : graph_->arguments())
    if (argument.role == GraphRole::Data || argument.role == GraphRole::State) sum += argument.bytes;
  return sum;
}

}  // namespace anyzero
