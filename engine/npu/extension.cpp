#include <cstring>

#include "../objects/commands/command_queue.h"
#include "../objects/devices/driver.h"
#include "../objects/devices/extension_tables.h"
#include "entry_checks.h"
#include "graph_table.h"
#include "inference_graph.h"
#include "profiling.h"

namespace anyzero {

namespace {

ze_result_t ProfilingPoolCreate(ze_graph_handle_t hGraph, uint32_t count, ze_graph_profiling_pool_handle_t* handle) {
  OURS(InferenceGraph, graph, hGraph);
  NEEDED(handle);
  return ProfilingPool::create(*graph, count, handle);
}

ze_result_t ProfilingPoolDestroy(ze_graph_profiling_pool_handle_t hPool) {
  OURS(ProfilingPool, pool, hPool);
  return pool->destroy();
}

ze_result_t ProfilingQueryCreate(ze_graph_profiling_pool_handle_t hPool, uint32_t index,
                                 ze_graph_profiling_query_handle_t* handle) {
  OURS(ProfilingPool, pool, hPool);
  NEEDED(handle);
  return ProfilingQuery::create(*pool, index, handle);
}

ze_result_t ProfilingQueryDestroy(ze_graph_profiling_query_handle_t hQuery) {
  OURS(ProfilingQuery, query, hQuery);
  return query->destroy();
}

ze_result_t ProfilingQueryGetData(ze_graph_profiling_query_handle_t hQuery, ze_graph_profiling_type_t type, uint32_t* pSize,
                                  uint8_t* data) {
  OURS(ProfilingQuery, query, hQuery);
  NEEDED(pSize);
  return query->getData(type, pSize, data);
}

ze_result_t ProfilingLogGetString(ze_graph_profiling_query_handle_t hQuery, uint32_t* pSize, char* text) {
  OURS(ProfilingQuery, query, hQuery);
  NEEDED(pSize);
  return query->getLog(pSize, text);
}

ze_result_t DeviceGetProfilingDataProperties(ze_device_handle_t hDevice, ze_device_profiling_data_properties_t* properties) {
  GIVEN(Device, device, hDevice);
  NEEDED(properties);
  static_cast<void>(device);
  properties->extensionVersion = ZE_PROFILING_DATA_EXT_VERSION_1_0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandQueueSetWorkloadType(ze_command_queue_handle_t hCommandQueue, ze_command_queue_workload_type_t type) {
  GIVEN(CommandQueue, queue, hCommandQueue);
  if (type != ZE_WORKLOAD_TYPE_DEFAULT && type != ZE_WORKLOAD_TYPE_BACKGROUND)
    return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "%s: unknown type %d", __func__, static_cast<int>(type));
  queue->set_background(type == ZE_WORKLOAD_TYPE_BACKGROUND);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ContextSetProperties(ze_context_handle_t hContext, ze_context_properties_npu_ext_t* properties) {
  GIVEN(Context, context, hContext);
  NEEDED(properties);
  static_cast<void>(context);
  // The only option is to save power while the device is idle, and idle worker threads sleep anyway.
  if (properties->options & ~uint32_t{ZE_NPU_CONTEXT_OPTION_IDLE_OPTIMIZATIONS})
    return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "%s: options %#x", __func__, properties->options);
  return ZE_RESULT_SUCCESS;
}

// The driver keeps no memory that a context could release.
ze_result_t ContextReleaseMemory(ze_context_handle_t hContext) {
  GIVEN(Context, context, hContext);
  static_cast<void>(context);
  return ZE_RESULT_SUCCESS;
}

ze_result_t DriverGetExtension(ze_driver_handle_t hDriver, ze_driver_extension_npu_ext_t* extension) {
  GIVEN(Driver, driver, hDriver);
  NEEDED(extension);
  NEEDED(extension->name);
  NEEDED(extension->ppFunctionAddress);
  if (driver->kind() != DriverKind::Npu) return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "%s: not an NPU's driver", __func__);
  if (!std::strcmp(extension->name, ZE_GRAPH_EXT_NAME) && extension->version > kGraphVersion)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_VERSION, "%s: %s has version %u.%u here, and %u.%u is asked for", __func__,
                extension->name, kGraphVersion >> 16, kGraphVersion & 0xffff, extension->version >> 16,
                extension->version & 0xffff);
  void* table = npu_extension(extension->name, extension->version);
  if (!table) return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "%s: no extension is called %s", __func__, extension->name);
  *extension->ppFunctionAddress = table;
  return ZE_RESULT_SUCCESS;
}

ze_graph_profiling_dditable_ext_t profiling_table = {
    safe<ProfilingPoolCreate>,   safe<ProfilingPoolDestroy>,  safe<ProfilingQueryCreate>,
    safe<ProfilingQueryDestroy>, safe<ProfilingQueryGetData>, safe<DeviceGetProfilingDataProperties>,
    safe<ProfilingLogGetString>,
};

ze_command_queue_npu_dditable_ext_t queue_table = {safe<CommandQueueSetWorkloadType>};
ze_context_npu_dditable_ext_t context_table = {safe<ContextSetProperties>, safe<ContextReleaseMemory>};
ze_driver_npu_dditable_ext_t driver_table = {safe<DriverGetExtension>};

}  // namespace

void* npu_extension(const char* name, uint32_t version) {
  if (!std::strcmp(name, ZE_GRAPH_EXT_NAME)) return const_cast<ze_graph_dditable_ext_t*>(&graph_table(version));
  if (!std::strcmp(name, ZE_PROFILING_DATA_EXT_NAME)) return &profiling_table;
  if (!std::strcmp(name, ZE_COMMAND_QUEUE_NPU_EXT_NAME)) return &queue_table;
  if (!std::strcmp(name, ZE_CONTEXT_NPU_EXT_NAME)) return &context_table;
  if (!std::strcmp(name, ZE_DRIVER_NPU_EXT_NAME)) return &driver_table;
  return nullptr;
}

}  // namespace anyzero
