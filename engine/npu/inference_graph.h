// The graph of the NPU's graph extension: a compiled model with the arguments of its next execution.
#pragma once

#include <string>
#include <vector>

#include "../abi/gen/ze_npu_ext.h"
#include "../abi/handle.h"
#include "../objects/devices/context.h"
#include "../objects/devices/device.h"
#include "graph_image.h"
#include "inference.h"

namespace anyzero {

class CommandList;
class Event;

// Threading: queries from any thread; changes from one thread at a time. An append copies the arguments.
class InferenceGraph : public Object<InferenceGraph, Kind::InferenceGraph> {
 public:
  static ze_result_t create(Context& context, Device& device, const ze_graph_desc_2_t& desc, ze_graph_handle_t* handle,
                            std::string* log);
  ze_result_t destroy();
  ze_result_t getProperties(ze_graph_properties_3_t* properties);
  ze_result_t getArgumentProperties(uint32_t index, ze_graph_argument_properties_3_t* properties);
  ze_result_t getArgumentMetadata(uint32_t index, ze_graph_argument_metadata_t* metadata);
  ze_result_t setArgumentValue(uint32_t index, const ArgumentValue& value);
  ze_result_t getNativeBinary(size_t* size, uint8_t* binary);
  ze_result_t getNativeBinary(size_t* size, const uint8_t** binary);
  ze_result_t initialize();
  ze_result_t evict();
  const std::string& log() const { return log_; }

  ze_result_t append_initialize(CommandList& list, Event* signal, uint32_t n, Event* const* waits);
  ze_result_t append_execute(CommandList& list, ProfilingQuery* query, Event* signal, uint32_t n, Event* const* waits);

  const GraphImage& image() const { return *image_; }
  Context& context() const { return *context_; }

  InferenceGraph(Context& context, Device& device, std::shared_ptr<GraphImage> image, std::string log);
  ~InferenceGraph();

  // Bytes of the blobs of all graphs in a context.
  static uint64_t bytes_in(const Context& context);

 private:
  ze_result_t refuse_index(uint32_t index) const;
  ze_result_t require_runs_on(const CommandList& list) const;

  Ref<Context> context_;
  Device& device_;
  std::shared_ptr<GraphImage> image_;
  std::vector<ArgumentValue> values_;
  std::string log_;
};

}  // namespace anyzero
