#include "inference_graph.h"

#include <algorithm>
#include <cstring>

#include "../abi/error.h"
#include "../objects/commands/command_list.h"
#include "../objects/modules/text.h"
#include "../objects/sync/event.h"
#include "profiling.h"

namespace anyzero {

namespace {

// All graphs, for queries of their memory usage.
Guarded<std::vector<std::pair<const Context*, GraphImage*>>>& loaded() {
  static auto* list = new Guarded<std::vector<std::pair<const Context*, GraphImage*>>>;  // leaked: used in exit handlers
  return *list;
}

template <size_t N>
uint32_t put_all(char (&to)[N][ZE_MAX_GRAPH_ARGUMENT_NAME], const std::vector<std::string>& from) {
  const size_t count = std::min(from.size(), N);
  for (size_t i = 0; i < count; ++i) put_text(to[i], from[i]);
  for (size_t i = count; i < N; ++i) to[i][0] = 0;
  return static_cast<uint32_t>(count);
}

}  // namespace

InferenceGraph::InferenceGraph(Context& context, Device& device, std::shared_ptr<GraphImage> image, std::string log)
    : context_(&context), device_(device), image_(std::move(image)), values_(image_->arguments().size()), log_(std::move(log)) {
  loaded().open()->emplace_back(context_.get(), image_.get());
}

InferenceGraph::~InferenceGraph() {
  auto list = loaded().open();
  auto mine = std::find(list->begin(), list->end(), std::pair<const Context*, GraphImage*>(context_.get(), image_.get()));
  if (mine != list->end()) list->erase(mine);
}

uint64_t InferenceGraph::bytes_in(const Context& context) {
  uint64_t sum = 0;
  auto list = loaded().open();
  for (const auto& [where, image] : *list) sum += where == &context ? image->bytes_held() : 0;
  return sum;
}

ze_result_t InferenceGraph::create(Context& context, Device& device, const ze_graph_desc_2_t& desc, ze_graph_handle_t* handle,
                                   std::string* log) {
  if (ze_result_t r = context.require(device)) return r;
  std::shared_ptr<GraphImage> image;
  if (ze_result_t r = GraphImage::make(desc, &image, log)) return fail(r, "%s", log->c_str());
  *handle = handle_of<ze_graph_handle_t>(make(context, device, std::move(image), *log));
  return ZE_RESULT_SUCCESS;
}

ze_result_t InferenceGraph::destroy() {
  retire();
  return ZE_RESULT_SUCCESS;
}

ze_result_t InferenceGraph::refuse_index(uint32_t index) const {
  return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "argument %u: the graph has only %zu arguments", index, values_.size());
}

ze_result_t InferenceGraph::getProperties(ze_graph_properties_3_t* properties) {
  properties->numGraphArgs = static_cast<uint32_t>(values_.size());
  properties->initStageRequired = static_cast<ze_graph_init_stage_t>(0);  // no initialization stage is needed
  properties->flags = image_->flags();
  return ZE_RESULT_SUCCESS;
}

ze_result_t InferenceGraph::getArgumentProperties(uint32_t index, ze_graph_argument_properties_3_t* properties) {
  if (index >= values_.size()) return refuse_index(index);
  const GraphArgument& argument = image_->arguments()[index];
  put_text(properties->name, argument.name);
  properties->type = !argument.input() ? ZE_GRAPH_ARGUMENT_TYPE_OUTPUT : ZE_GRAPH_ARGUMENT_TYPE_INPUT;
  std::fill_n(properties->dims, ZE_MAX_GRAPH_ARGUMENT_DIMENSIONS_SIZE, 1u);
  std::copy_n(argument.dims.begin(), std::min<size_t>(argument.dims.size(), ZE_MAX_GRAPH_ARGUMENT_DIMENSIONS_SIZE),
              properties->dims);
  properties->networkPrecision = properties->devicePrecision = static_cast<ze_graph_argument_precision_t>(argument.precision);
  properties->networkLayout = properties->deviceLayout = static_cast<ze_graph_argument_layout_t>(argument.layout);
  properties->quantReverseScale = 1;
  properties->quantZeroPoint = 0;
  properties->dims_count = static_cast<uint32_t>(argument.dims.size());
  put_text(properties->debug_friendly_name, argument.friendly_name);
  properties->associated_tensor_names_count = put_all(properties->associated_tensor_names, argument.tensor_names);
  return ZE_RESULT_SUCCESS;
}

ze_result_t InferenceGraph::getArgumentMetadata(uint32_t index, ze_graph_argument_metadata_t* metadata) {
  if (index >= values_.size()) return refuse_index(index);
  const GraphArgument& argument = image_->arguments()[index];
  metadata->type = !argument.input() ? ZE_GRAPH_ARGUMENT_TYPE_OUTPUT : ZE_GRAPH_ARGUMENT_TYPE_INPUT;
  put_text(metadata->friendly_name, argument.friendly_name);
  metadata->data_type = static_cast<ze_graph_metadata_type>(argument.metadata_type);
  metadata->shape_size = static_cast<uint32_t>(std::min<size_t>(argument.shape.size(), ZE_MAX_GRAPH_TENSOR_REF_DIMS));
  std::fill_n(metadata->shape, ZE_MAX_GRAPH_TENSOR_REF_DIMS, uint64_t{0});
  std::copy_n(argument.shape.begin(), metadata->shape_size, metadata->shape);
  metadata->tensor_names_count = put_all(metadata->tensor_names, argument.tensor_names);
  put_text(metadata->input_name, argument.name);
  return ZE_RESULT_SUCCESS;
}

ze_result_t InferenceGraph::setArgumentValue(uint32_t index, const ArgumentValue& value) {
  if (index >= values_.size()) return refuse_index(index);
  values_[index] = value;
  return ZE_RESULT_SUCCESS;
}

ze_result_t InferenceGraph::getNativeBinary(size_t* size, uint8_t* binary) {
  std::span<const unsigned char> bytes;
  if (ze_result_t r = image_->native_binary(&bytes)) return r;
  return copy_out(bytes.data(), bytes.size(), size, binary);
}

ze_result_t InferenceGraph::getNativeBinary(size_t* size, const uint8_t** binary) {
  std::span<const unsigned char> bytes;
  if (ze_result_t r = image_->native_binary(&bytes)) return r;
  *size = bytes.size();
  if (binary) *binary = bytes.data();
  return ZE_RESULT_SUCCESS;
}

ze_result_t InferenceGraph::initialize() {
  if (image_->manifest().weightless()) return ZE_RESULT_SUCCESS;  // each execution supplies the weights
  std::shared_ptr<CompiledGraph> compiled;
  return image_->compiled(&compiled);
}

ze_result_t InferenceGraph::evict() {
  image_->evict();
  return ZE_RESULT_SUCCESS;
}

// Rejects copy-only lists, whose engines run no graphs, and lists of another device.
ze_result_t InferenceGraph::require_runs_on(const CommandList& list) const {
  if (list.copy_only())
    return fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
                "a copy-only command list takes no graph: create the list with a compute queue group");
  if (!list.device().is_or_is_tile_of(device_))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the graph was created for another device");
  return ZE_RESULT_SUCCESS;
}

ze_result_t InferenceGraph::append_initialize(CommandList& list, Event* signal, uint32_t n, Event* const* waits) {
  if (ze_result_t r = require_runs_on(list)) return r;
  if (!image_->manifest().weightless()) {
    if (ze_result_t r = initialize()) return r;
    return list.appendBarrier(signal, n, waits);
  }
  Inference* initialization = nullptr;
  if (ze_result_t r = Inference::make_initialization(image_, values_, &initialization)) return r;
  const ze_result_t result = list.append_inference(*initialization, signal, n, waits);
  initialization->release();  // the packet holds its own reference
  return result;
}

ze_result_t InferenceGraph::append_execute(CommandList& list, ProfilingQuery* query, Event* signal, uint32_t n,
                                           Event* const* waits) {
  if (ze_result_t r = require_runs_on(list)) return r;
  Inference* inference = nullptr;
  if (ze_result_t r = Inference::make(image_, values_, query, &inference)) return r;
  const ze_result_t result = list.append_inference(*inference, signal, n, waits);
  inference->release();  // the packet holds its own reference
  return result;
}

}  // namespace anyzero
