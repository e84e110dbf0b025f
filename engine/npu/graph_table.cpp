#include "graph_table.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../objects/commands/command_list.h"
#include "../objects/modules/text.h"
#include "../system/settings.h"
#include "compiler_options.h"
#include "entry_checks.h"
#include "inference_graph.h"
#include "network_query.h"
#include "profiling.h"

namespace anyzero {

namespace {

// The compiler version that clients check: from 7.27 on they send models unchanged.
constexpr ze_graph_compiler_version_info_t kCompilerVersion{7, 30};
constexpr uint32_t kNewestOpset = 17;
constexpr uint32_t kBothFormats = ZE_GRAPH_FORMAT_NATIVE | ZE_GRAPH_FORMAT_NGRAPH_LITE;

// A log that outlives the build that wrote it.
class GraphBuildLog : public Object<GraphBuildLog, Kind::GraphBuildLog> {
 public:
  explicit GraphBuildLog(std::string text) : text(std::move(text)) {}
  const std::string text;
};

// The log of the last build on this thread: a failed build leaves no graph to query.
thread_local std::string* last_log = nullptr;

void remember(const std::string& log) {
  if (!last_log) last_log = new std::string;  // leaked with its thread: a destructor might run after the driver's own
  *last_log = log;
}

ze_result_t hand_out(const std::string& text, uint32_t* size, char* to) {
  return copy_out(text.c_str(), text.size() + 1, size, to);
}

ze_result_t check(const ze_graph_desc_2_t& desc) {
  if (!desc.pInput) return null_pointer("zeGraphCreate", "desc->pInput");
  if (desc.inputSize == 0) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "zeGraphCreate: the input has no bytes");
  if (desc.format != ZE_GRAPH_FORMAT_NATIVE && desc.format != ZE_GRAPH_FORMAT_NGRAPH_LITE)
    return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "zeGraphCreate: unknown format %d", static_cast<int>(desc.format));
  return ZE_RESULT_SUCCESS;
}

ze_graph_desc_2_t widened(const ze_graph_desc_t& desc) {
  return {ZE_STRUCTURE_TYPE_GRAPH_DESC_2, desc.pNext, desc.format, desc.inputSize, desc.pInput, desc.pBuildFlags, 0};
}

ze_result_t create_logged(ze_context_handle_t hContext, ze_device_handle_t hDevice, const ze_graph_desc_2_t& desc,
                          ze_graph_handle_t* graph, std::string* log) {
  GIVEN(Context, context, hContext);
  GIVEN(Device, device, hDevice);
  ze_result_t result = check(desc);
  if (!result) result = InferenceGraph::create(*context, *device, desc, graph, log);
  if (result && log->empty()) *log = last_error();
  remember(*log);
  return result;
}

ze_result_t GraphCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice, const ze_graph_desc_t* desc,
                        ze_graph_handle_t* phGraph) {
  NEEDED(desc);
  NEEDED(phGraph);
  std::string log;
  return create_logged(hContext, hDevice, widened(*desc), phGraph, &log);
}

ze_result_t GraphCreate2(ze_context_handle_t hContext, ze_device_handle_t hDevice, const ze_graph_desc_2_t* desc,
                         ze_graph_handle_t* phGraph) {
  NEEDED(desc);
  NEEDED(phGraph);
  std::string log;
  return create_logged(hContext, hDevice, *desc, phGraph, &log);
}

ze_result_t GraphCreate3(ze_context_handle_t hContext, ze_device_handle_t hDevice, const ze_graph_desc_2_t* desc,
                         ze_graph_handle_t* phGraph, ze_graph_build_log_handle_t* phGraphBuildLog) {
  NEEDED(desc);
  NEEDED(phGraph);
  std::string log;
  const ze_result_t result = create_logged(hContext, hDevice, *desc, phGraph, &log);
  if (phGraphBuildLog) *phGraphBuildLog = handle_of<ze_graph_build_log_handle_t>(GraphBuildLog::make(log));
  return result;
}

ze_result_t GraphDestroy(ze_graph_handle_t hGraph) {
  OURS(InferenceGraph, graph, hGraph);
  return graph->destroy();
}

// The three properties structures have a common prefix; each version extends the previous one.
template <class P>
ze_result_t properties_of(ze_graph_handle_t hGraph, P* properties) {
  OURS(InferenceGraph, graph, hGraph);
  NEEDED(properties);
  ze_graph_properties_3_t all{};
  if (ze_result_t r = graph->getProperties(&all)) return r;
  constexpr size_t kBegin = offsetof(ze_graph_properties_t, numGraphArgs);
  // Excludes the padding after the last member, which may not belong to the caller.
  constexpr size_t kEnd = std::is_same_v<P, ze_graph_properties_t> ? offsetof(ze_graph_properties_2_t, initStageRequired)
                          : std::is_same_v<P, ze_graph_properties_2_t>
                              ? offsetof(ze_graph_properties_3_t, flags)
                              : offsetof(ze_graph_properties_3_t, flags) + sizeof all.flags;
  std::memcpy(reinterpret_cast<char*>(properties) + kBegin, reinterpret_cast<const char*>(&all) + kBegin, kEnd - kBegin);
  return ZE_RESULT_SUCCESS;
}

ze_result_t GraphGetProperties(ze_graph_handle_t hGraph, ze_graph_properties_t* properties) {
  return properties_of(hGraph, properties);
}

ze_result_t GraphGetProperties2(ze_graph_handle_t hGraph, ze_graph_properties_2_t* properties) {
  return properties_of(hGraph, properties);
}

ze_result_t GraphGetProperties3(ze_graph_handle_t hGraph, ze_graph_properties_3_t* properties) {
  return properties_of(hGraph, properties);
}

void tell_strides(void* chain) {
  const void* found = find_next(chain, ZE_STRUCTURE_TYPE_GRAPH_ARGUMENT_PROPERTY_STRIDES);
  if (found) static_cast<ze_graph_argument_property_strides_t*>(const_cast<void*>(found))->supportsDynamicStrides = true;
}

template <class P>
ze_result_t argument_of(ze_graph_handle_t hGraph, uint32_t index, P* properties) {
  OURS(InferenceGraph, graph, hGraph);
  NEEDED(properties);
  auto all = std::make_unique<ze_graph_argument_properties_3_t>();
  if (ze_result_t r = graph->getArgumentProperties(index, all.get())) return r;
  std::copy_n(all->name, sizeof all->name, properties->name);
  properties->type = all->type;
  std::copy_n(all->dims, ZE_MAX_GRAPH_ARGUMENT_DIMENSIONS_SIZE, properties->dims);
  properties->networkPrecision = all->networkPrecision;
  properties->networkLayout = all->networkLayout;
  properties->devicePrecision = all->devicePrecision;
  properties->deviceLayout = all->deviceLayout;
  if constexpr (requires { properties->quantZeroPoint; }) {
    properties->quantReverseScale = all->quantReverseScale;
    properties->quantZeroPoint = all->quantZeroPoint;
  }
  if constexpr (requires { properties->dims_count; }) {
    properties->dims_count = all->dims_count;
    std::copy_n(all->debug_friendly_name, sizeof all->debug_friendly_name, properties->debug_friendly_name);
    std::memcpy(properties->associated_tensor_names, all->associated_tensor_names, sizeof all->associated_tensor_names);
    properties->associated_tensor_names_count = all->associated_tensor_names_count;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t GraphGetArgumentProperties(ze_graph_handle_t hGraph, uint32_t index, ze_graph_argument_properties_t* properties) {
  return argument_of(hGraph, index, properties);
}

ze_result_t GraphGetArgumentProperties2(ze_graph_handle_t hGraph, uint32_t index, ze_graph_argument_properties_2_t* properties) {
  return argument_of(hGraph, index, properties);
}

ze_result_t GraphGetArgumentProperties3(ze_graph_handle_t hGraph, uint32_t index, ze_graph_argument_properties_3_t* properties) {
  return argument_of(hGraph, index, properties);
}

// Functions since version 1.15, which read pNext chains.
namespace chained {
ze_result_t GraphGetArgumentProperties3(ze_graph_handle_t hGraph, uint32_t index, ze_graph_argument_properties_3_t* properties) {
  if (ze_result_t r = argument_of(hGraph, index, properties)) return r;
  tell_strides(properties->pNext);
  return ZE_RESULT_SUCCESS;
}
}  // namespace chained

ze_result_t GraphGetArgumentMetadata(ze_graph_handle_t hGraph, uint32_t index, ze_graph_argument_metadata_t* metadata) {
  OURS(InferenceGraph, graph, hGraph);
  NEEDED(metadata);
  return graph->getArgumentMetadata(index, metadata);
}

ze_result_t GraphSetArgumentValue(ze_graph_handle_t hGraph, uint32_t index, const void* value) {
  OURS(InferenceGraph, graph, hGraph);
  ArgumentValue given;
  given.pointer = const_cast<void*>(value);
  return graph->setArgumentValue(index, given);
}

ze_result_t GraphSetArgumentValue2(ze_graph_handle_t hGraph, uint32_t index, const void* value) {
  OURS(InferenceGraph, graph, hGraph);
  NEEDED(value);
  const auto* tensor = static_cast<const ze_graph_argument_value_tensor_t*>(value);
  if (tensor->stype != ZE_STRUCTURE_TYPE_GRAPH_ARGUMENT_TENSOR)
    return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "%s: the value is not a ze_graph_argument_value_tensor_t", __func__);
  ArgumentValue given;
  given.pointer = const_cast<void*>(tensor->pTensor);
  given.read_strides(tensor->pNext);
  return graph->setArgumentValue(index, given);
}

// The events of an append; each may be wrapped by a loader.
ze_result_t find_events(uint32_t count, ze_event_handle_t* handles, std::vector<Event*>* events) {
  if (count && !handles) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "%u wait events, but no array", count);
  for (uint32_t i = 0; i < count; ++i) {
    GIVEN(Event, event, handles[i]);
    events->push_back(event);
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t append_to(ze_command_list_handle_t hCommandList, ze_graph_handle_t hGraph, ze_graph_profiling_query_handle_t hQuery,
                      bool execute, ze_event_handle_t hSignalEvent, uint32_t count, ze_event_handle_t* phWaitEvents) {
  GIVEN(CommandList, given, hCommandList);
  Using<CommandList> list(static_cast<Header*>(given));
  if (!list) return bad_handle(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, __func__, "hCommandList", hCommandList);
  OURS(InferenceGraph, graph, hGraph);
  ProfilingQuery* query = hQuery ? checked<ProfilingQuery>(hQuery) : nullptr;
  if (hQuery && !query) return bad_handle(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "AppendGraphExecute", "hProfilingQuery", hQuery);
  Event* signal = hSignalEvent ? from_client<Event>(hSignalEvent, LoaderKind::Event) : nullptr;
  if (hSignalEvent && !signal)
    return bad_handle(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT, "AppendGraphExecute", "hSignalEvent", hSignalEvent);
  std::vector<Event*> waits;
  if (ze_result_t r = find_events(count, phWaitEvents, &waits)) return r;
  return execute ? graph->append_execute(*list, query, signal, count, waits.data())
                 : graph->append_initialize(*list, signal, count, waits.data());
}

ze_result_t AppendGraphInitialize(ze_command_list_handle_t hCommandList, ze_graph_handle_t hGraph, ze_event_handle_t hSignalEvent,
                                  uint32_t count, ze_event_handle_t* phWaitEvents) {
  return append_to(hCommandList, hGraph, nullptr, false, hSignalEvent, count, phWaitEvents);
}

ze_result_t AppendGraphExecute(ze_command_list_handle_t hCommandList, ze_graph_handle_t hGraph,
                               ze_graph_profiling_query_handle_t hProfilingQuery, ze_event_handle_t hSignalEvent, uint32_t count,
                               ze_event_handle_t* phWaitEvents) {
  return append_to(hCommandList, hGraph, hProfilingQuery, true, hSignalEvent, count, phWaitEvents);
}

ze_result_t GraphGetNativeBinary(ze_graph_handle_t hGraph, size_t* pSize, uint8_t* binary) {
  OURS(InferenceGraph, graph, hGraph);
  NEEDED(pSize);
  return graph->getNativeBinary(pSize, binary);
}

ze_result_t GraphGetNativeBinary2(ze_graph_handle_t hGraph, size_t* pSize, const uint8_t** binary) {
  OURS(InferenceGraph, graph, hGraph);
  NEEDED(pSize);
  return graph->getNativeBinary(pSize, binary);
}

template <class P>
ze_result_t device_properties(ze_device_handle_t hDevice, P* properties) {
  GIVEN(Device, device, hDevice);
  NEEDED(properties);
  static_cast<void>(device);
  properties->graphExtensionVersion = static_cast<ze_graph_ext_version_t>(kGraphVersion);
  properties->compilerVersion = kCompilerVersion;
  properties->graphFormatsSupported = static_cast<ze_graph_format_t>(kBothFormats);
  properties->maxOVOpsetVersionSupported = kNewestOpset;
  if constexpr (requires { properties->elfVersion; }) {
    properties->elfVersion = {kManifestVersion, 0, 0};
    properties->runtimeVersion = {1, 0, 0};
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t DeviceGetGraphProperties(ze_device_handle_t hDevice, ze_device_graph_properties_t* properties) {
  return device_properties(hDevice, properties);
}

ze_result_t DeviceGetGraphProperties2(ze_device_handle_t hDevice, ze_device_graph_properties_2_t* properties) {
  return device_properties(hDevice, properties);
}

ze_result_t query_network(ze_context_handle_t hContext, ze_device_handle_t hDevice, const ze_graph_desc_2_t& desc,
                          ze_graph_query_network_handle_t* handle) {
  GIVEN(Context, context, hContext);
  GIVEN(Device, device, hDevice);
  NEEDED(handle);
  std::string log;
  ze_result_t result = check(desc);
  if (!result) result = NetworkQuery::create(*context, *device, desc, handle, &log);
  remember(result && log.empty() ? last_error() : log);
  return result;
}

ze_result_t QueryNetworkCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice, const ze_graph_desc_t* desc,
                               ze_graph_query_network_handle_t* handle) {
  NEEDED(desc);
  return query_network(hContext, hDevice, widened(*desc), handle);
}

ze_result_t QueryNetworkCreate2(ze_context_handle_t hContext, ze_device_handle_t hDevice, const ze_graph_desc_2_t* desc,
                                ze_graph_query_network_handle_t* handle) {
  NEEDED(desc);
  return query_network(hContext, hDevice, *desc, handle);
}

ze_result_t QueryNetworkDestroy(ze_graph_query_network_handle_t hQuery) {
  OURS(NetworkQuery, query, hQuery);
  return query->destroy();
}

ze_result_t QueryNetworkGetSupportedLayers(ze_graph_query_network_handle_t hQuery, size_t* pSize, char* layers) {
  OURS(NetworkQuery, query, hQuery);
  NEEDED(pSize);
  return query->getSupportedLayers(pSize, layers);
}

// Without a graph: the log of the last build on this thread.
ze_result_t GraphBuildLogGetString(ze_graph_handle_t hGraph, uint32_t* pSize, char* text) {
  NEEDED(pSize);
  if (!hGraph) return hand_out(last_log ? *last_log : std::string(), pSize, text);
  OURS(InferenceGraph, graph, hGraph);
  return hand_out(graph->log(), pSize, text);
}

ze_result_t GraphBuildLogGetString2(ze_graph_build_log_handle_t hLog, uint32_t* pSize, char* text) {
  OURS(GraphBuildLog, log, hLog);
  NEEDED(pSize);
  return hand_out(log->text, pSize, text);
}

ze_result_t GraphBuildLogDestroy(ze_graph_build_log_handle_t hLog) {
  OURS(GraphBuildLog, log, hLog);
  log->retire();
  return ZE_RESULT_SUCCESS;
}

ze_result_t QueryContextMemory(ze_context_handle_t hContext, ze_graph_memory_query_type_t type, ze_graph_memory_query_t* query) {
  GIVEN(Context, context, hContext);
  NEEDED(query);
  uint64_t total = 0, used = 0;
  for (const Device* device : context->devices()) {
    total += device->memory_total();
    used += device->memory_used();
  }
  switch (type) {
    case ZE_GRAPH_QUERY_MEMORY_DDR:
      *query = {total, used + InferenceGraph::bytes_in(*context)};
      return ZE_RESULT_SUCCESS;
    case ZE_GRAPH_QUERY_MEMORY_DRIVER_CACHE:
      *query = {settings.npu_cache_bytes, cached_model_bytes()};
      return ZE_RESULT_SUCCESS;
    case ZE_GRAPH_QUERY_MEMORY_PROGRAM_CACHE:
      *query = {total, InferenceGraph::bytes_in(*context)};
      return ZE_RESULT_SUCCESS;
    default:
      return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "%s: unknown type %d", __func__, static_cast<int>(type));
  }
}

ze_result_t GraphInitialize(ze_graph_handle_t hGraph) {
  OURS(InferenceGraph, graph, hGraph);
  return graph->initialize();
}

ze_result_t GraphEvict(ze_graph_handle_t hGraph) {
  OURS(InferenceGraph, graph, hGraph);
  return graph->evict();
}

ze_result_t CompilerGetSupportedOptions(ze_device_handle_t hDevice, ze_npu_options_type_t type, size_t* pSize, char* options) {
  GIVEN(Device, device, hDevice);
  NEEDED(pSize);
  static_cast<void>(device);
  if (type != ZE_NPU_COMPILER_OPTIONS)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "%s: the driver has no such options", __func__);
  return copy_out(compiler_options(), std::strlen(compiler_options()) + 1, pSize, options);
}

ze_result_t CompilerIsOptionSupported(ze_device_handle_t hDevice, ze_npu_options_type_t type, const char* option,
                                      const char* value) {
  GIVEN(Device, device, hDevice);
  NEEDED(option);
  static_cast<void>(device);
  if (type == ZE_NPU_COMPILER_OPTIONS && knows_compiler_option(option, value)) return ZE_RESULT_SUCCESS;
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "%s: there is no option %s%s%s", __func__, option, value ? " with value " : "",
              value ? value : "");
}

constexpr ze_graph_dditable_ext_t kFirst = {
    safe<GraphCreate>,
    safe<GraphDestroy>,
    safe<GraphGetProperties>,
    safe<GraphGetArgumentProperties>,
    safe<GraphSetArgumentValue>,
    safe<AppendGraphInitialize>,
    safe<AppendGraphExecute>,
    safe<GraphGetNativeBinary>,
    safe<DeviceGetGraphProperties>,
    safe<GraphGetArgumentMetadata>,
    safe<GraphGetArgumentProperties2>,
    safe<GraphGetArgumentProperties3>,
    safe<QueryNetworkCreate>,
    safe<QueryNetworkDestroy>,
    safe<QueryNetworkGetSupportedLayers>,
    safe<GraphBuildLogGetString>,
    safe<GraphCreate2>,
    safe<QueryNetworkCreate2>,
    safe<QueryContextMemory>,
    safe<DeviceGetGraphProperties2>,
    safe<GraphGetNativeBinary2>,
    safe<GraphGetProperties2>,
    safe<GraphInitialize>,
    safe<CompilerGetSupportedOptions>,
    safe<CompilerIsOptionSupported>,
    safe<GraphCreate3>,
    safe<GraphGetProperties3>,
    safe<GraphBuildLogGetString2>,
    safe<GraphBuildLogDestroy>,
    safe<GraphSetArgumentValue2>,
    safe<GraphEvict>,
};

constexpr ze_graph_dditable_ext_t kChained = [] {
  ze_graph_dditable_ext_t table = kFirst;
  table.pfnGetArgumentProperties3 = safe<chained::GraphGetArgumentProperties3>;
  return table;
}();

}  // namespace

const ze_graph_dditable_ext_t& graph_table(uint32_t version) { return version >= ZE_GRAPH_EXT_VERSION_1_15 ? kChained : kFirst; }

}  // namespace anyzero
