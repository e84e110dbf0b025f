// Hooks of check mode before and after calls of the API. `python -m codegen` finds these functions by their names: before_NAME has
// the parameters of the function and, where it returns a result, may refuse the call by it; after_NAME has the result in front.
#pragma once

#include "../abi/gen/ze_api.h"
#include "../check/finding.h"
#include "device_scope.h"

namespace anyzero {

// Memory: memory.cpp
void before_zeMemFree(ze_context_handle_t context, void* pointer);
void before_zeMemFreeExt(ze_context_handle_t context, const ze_memory_free_ext_desc_t* desc, void* pointer);
ze_result_t before_zeCommandListAppendMemoryCopy(ze_command_list_handle_t list, void* to, const void* from, size_t size,
                                                 ze_event_handle_t signal, uint32_t n, ze_event_handle_t* waits);
ze_result_t before_zeCommandListAppendMemoryCopyFromContext(ze_command_list_handle_t list, void* to, ze_context_handle_t context,
                                                            const void* from, size_t size, ze_event_handle_t signal, uint32_t n,
                                                            ze_event_handle_t* waits);
ze_result_t before_zeCommandListAppendMemoryFill(ze_command_list_handle_t list, void* to, const void* pattern, size_t pattern_size,
                                                 size_t size, ze_event_handle_t signal, uint32_t n, ze_event_handle_t* waits);
ze_result_t before_zeCommandListAppendMemoryCopyRegion(ze_command_list_handle_t list, void* to, const ze_copy_region_t* to_region,
                                                       uint32_t to_pitch, uint32_t to_slice_pitch, const void* from,
                                                       const ze_copy_region_t* from_region, uint32_t from_pitch,
                                                       uint32_t from_slice_pitch, ze_event_handle_t signal, uint32_t n,
                                                       ze_event_handle_t* waits);
ze_result_t before_zeCommandListAppendWriteGlobalTimestamp(ze_command_list_handle_t list, uint64_t* to, ze_event_handle_t signal,
                                                           uint32_t n, ze_event_handle_t* waits);
ze_result_t before_zeCommandListAppendMemoryCopyWithParameters(ze_command_list_handle_t list, void* to, const void* from,
                                                               size_t size, const void* next, ze_event_handle_t signal, uint32_t n,
                                                               ze_event_handle_t* waits);
ze_result_t before_zeCommandListAppendMemoryFillWithParameters(ze_command_list_handle_t list, void* to, const void* pattern,
                                                               size_t pattern_size, size_t size, const void* next,
                                                               ze_event_handle_t signal, uint32_t n, ze_event_handle_t* waits);
ze_result_t before_zeCommandListAppendMemAdvise(ze_command_list_handle_t list, ze_device_handle_t device, const void* pointer,
                                                size_t size, ze_memory_advice_t advice);
ze_result_t before_zeCommandListAppendMemoryPrefetch(ze_command_list_handle_t list, const void* pointer, size_t size);

// Objects of the program, with the places that made them: made_objects.cpp
void after_zeContextCreate(ze_result_t result, ze_driver_handle_t driver, const ze_context_desc_t* desc, ze_context_handle_t* made);
void after_zeContextCreateEx(ze_result_t result, ze_driver_handle_t driver, const ze_context_desc_t* desc, uint32_t count,
                             ze_device_handle_t* devices, ze_context_handle_t* made);
void after_zeContextDestroy(ze_result_t result, ze_context_handle_t object);
void after_zeMemAllocDevice(ze_result_t result, ze_context_handle_t context, const ze_device_mem_alloc_desc_t* desc, size_t size,
                            size_t alignment, ze_device_handle_t device, void** pointer);
void after_zeMemAllocHost(ze_result_t result, ze_context_handle_t context, const ze_host_mem_alloc_desc_t* desc, size_t size,
                          size_t alignment, void** pointer);
void after_zeMemAllocShared(ze_result_t result, ze_context_handle_t context, const ze_device_mem_alloc_desc_t* device_desc,
                            const ze_host_mem_alloc_desc_t* host_desc, size_t size, size_t alignment, ze_device_handle_t device,
                            void** pointer);
void after_zeMemFree(ze_result_t result, ze_context_handle_t context, void* pointer);
void after_zeMemFreeExt(ze_result_t result, ze_context_handle_t context, const ze_memory_free_ext_desc_t* desc, void* pointer);
void after_zeCommandQueueCreate(ze_result_t result, ze_context_handle_t context, ze_device_handle_t device,
                                const ze_command_queue_desc_t* desc, ze_command_queue_handle_t* made);
void after_zeCommandListCreate(ze_result_t result, ze_context_handle_t context, ze_device_handle_t device,
                               const ze_command_list_desc_t* desc, ze_command_list_handle_t* made);
void after_zeCommandListCreateImmediate(ze_result_t result, ze_context_handle_t context, ze_device_handle_t device,
                                        const ze_command_queue_desc_t* desc, ze_command_list_handle_t* made);
void after_zeEventPoolCreate(ze_result_t result, ze_context_handle_t context, const ze_event_pool_desc_t* desc, uint32_t count,
                             ze_device_handle_t* devices, ze_event_pool_handle_t* made);
void after_zeImageCreate(ze_result_t result, ze_context_handle_t context, ze_device_handle_t device, const ze_image_desc_t* desc,
                         ze_image_handle_t* made);
void after_zeSamplerCreate(ze_result_t result, ze_context_handle_t context, ze_device_handle_t device,
                           const ze_sampler_desc_t* desc, ze_sampler_handle_t* made);
void after_zeModuleCreate(ze_result_t result, ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t* desc,
                          ze_module_handle_t* made, ze_module_build_log_handle_t* log);
void after_zeKernelCreate(ze_result_t result, ze_module_handle_t module, const ze_kernel_desc_t* desc, ze_kernel_handle_t* made);
void after_zeFenceCreate(ze_result_t result, ze_command_queue_handle_t queue, const ze_fence_desc_t* desc, ze_fence_handle_t* made);
void after_zePhysicalMemCreate(ze_result_t result, ze_context_handle_t context, ze_device_handle_t device,
                               ze_physical_mem_desc_t* desc, ze_physical_mem_handle_t* made);
void after_zeVirtualMemReserve(ze_result_t result, ze_context_handle_t context, const void* start, size_t size, void** made);
void after_zeMemOpenIpcHandle(ze_result_t result, ze_context_handle_t context, ze_device_handle_t device,
                              ze_ipc_mem_handle_t handle, ze_ipc_memory_flags_t flags, void** made);
void before_zeModuleDestroy(ze_module_handle_t object);
void before_zeEventPoolDestroy(ze_event_pool_handle_t object);
void after_zeKernelDestroy(ze_result_t result, ze_kernel_handle_t object);
void after_zeFenceDestroy(ze_result_t result, ze_fence_handle_t object);
void after_zeEventDestroy(ze_result_t result, ze_event_handle_t object);
void after_zePhysicalMemDestroy(ze_result_t result, ze_context_handle_t context, ze_physical_mem_handle_t object);
void after_zeVirtualMemFree(ze_result_t result, ze_context_handle_t context, const void* pointer, size_t size);
void after_zeMemCloseIpcHandle(ze_result_t result, ze_context_handle_t context, const void* pointer);
void after_zeEventPoolDestroy(ze_result_t result, ze_event_pool_handle_t object);
void after_zeImageDestroy(ze_result_t result, ze_image_handle_t object);
void after_zeSamplerDestroy(ze_result_t result, ze_sampler_handle_t object);
void after_zeModuleDestroy(ze_result_t result, ze_module_handle_t object);
void after_zeCommandListDestroy(ze_result_t result, ze_command_list_handle_t object);
void after_zeCommandQueueDestroy(ze_result_t result, ze_command_queue_handle_t object);
void before_zeContextDestroy(ze_context_handle_t context);

// Contents of device memory and of images: initialization.cpp
ze_result_t before_zeCommandListAppendImageCopy(ze_command_list_handle_t list, ze_image_handle_t to, ze_image_handle_t from,
                                                ze_event_handle_t signal, uint32_t n, ze_event_handle_t* waits);
ze_result_t before_zeCommandListAppendImageCopyRegion(ze_command_list_handle_t list, ze_image_handle_t to, ze_image_handle_t from,
                                                      const ze_image_region_t* to_region, const ze_image_region_t* from_region,
                                                      ze_event_handle_t signal, uint32_t n, ze_event_handle_t* waits);
ze_result_t before_zeCommandListAppendImageCopyFromMemory(ze_command_list_handle_t list, ze_image_handle_t to, const void* from,
                                                          const ze_image_region_t* region, ze_event_handle_t signal, uint32_t n,
                                                          ze_event_handle_t* waits);
ze_result_t before_zeCommandListAppendImageCopyFromMemoryExt(ze_command_list_handle_t list, ze_image_handle_t to, const void* from,
                                                             const ze_image_region_t* region, uint32_t row_pitch,
                                                             uint32_t slice_pitch, ze_event_handle_t signal, uint32_t n,
                                                             ze_event_handle_t* waits);
void after_zeImageGetDeviceOffsetExp(ze_result_t result, ze_image_handle_t image, uint64_t* offset);
ze_result_t before_zeCommandListAppendImageCopyToMemory(ze_command_list_handle_t list, void* to, ze_image_handle_t from,
                                                        const ze_image_region_t* region, ze_event_handle_t signal, uint32_t n,
                                                        ze_event_handle_t* waits);
ze_result_t before_zeCommandListAppendImageCopyToMemoryExt(ze_command_list_handle_t list, void* to, ze_image_handle_t from,
                                                           const ze_image_region_t* region, uint32_t row_pitch,
                                                           uint32_t slice_pitch, ze_event_handle_t signal, uint32_t n,
                                                           ze_event_handle_t* waits);
ze_result_t before_zeCommandListAppendQueryKernelTimestamps(ze_command_list_handle_t list, uint32_t count,
                                                            ze_event_handle_t* events, void* to, const size_t* offsets,
                                                            ze_event_handle_t signal, uint32_t n, ze_event_handle_t* waits);
ze_result_t before_zeMemGetIpcHandle(ze_context_handle_t context, const void* pointer, ze_ipc_mem_handle_t* handle);

// Order: synchronization.cpp
void before_zeImageDestroy(ze_image_handle_t image);
void before_zeEventHostReset(ze_event_handle_t event);
void before_zeEventDestroy(ze_event_handle_t event);
void before_zeFenceReset(ze_fence_handle_t fence);
void before_zeFenceDestroy(ze_fence_handle_t fence);
void before_zeCommandListReset(ze_command_list_handle_t list);
void before_zeCommandListDestroy(ze_command_list_handle_t list);
void before_zeCommandQueueDestroy(ze_command_queue_handle_t queue);
void before_zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t queue, uint32_t count, ze_command_list_handle_t* lists,
                                              ze_fence_handle_t fence);
ze_result_t before_zeEventHostSynchronize(ze_event_handle_t event, uint64_t timeout);
ze_result_t before_zeFenceHostSynchronize(ze_fence_handle_t fence, uint64_t timeout);
ze_result_t before_zeCommandQueueSynchronize(ze_command_queue_handle_t queue, uint64_t timeout);
ze_result_t before_zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout);

// Calls that hardware or the specification do not allow: strictness.cpp
void before_zeEventQueryStatus(ze_event_handle_t event);
void before_zeEventHostSignal(ze_event_handle_t event);
void after_zeEventHostSynchronize(ze_result_t result, ze_event_handle_t event, uint64_t timeout);
void after_zeEventQueryStatus(ze_result_t result, ze_event_handle_t event);
ze_result_t before_zeCommandListAppendLaunchKernelIndirect(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                                           const ze_group_count_t* count, ze_event_handle_t signal, uint32_t n,
                                                           ze_event_handle_t* waits);
ze_result_t before_zeCommandListAppendLaunchMultipleKernelsIndirect(ze_command_list_handle_t list, uint32_t count,
                                                                    ze_kernel_handle_t* kernels, const uint32_t* launched,
                                                                    const ze_group_count_t* groups, ze_event_handle_t signal,
                                                                    uint32_t n, ze_event_handle_t* waits);
void before_zeKernelSetArgumentValue(ze_kernel_handle_t kernel, uint32_t index, size_t size, const void* value);
// Of every call that returns an error.
void check_refused(ze_result_t result);
// The same of a call that was let pass.
void check_refused(ze_result_t result, const char* function, const void* caller);

// Events between devices: device_scope.cpp
void after_zeEventCreate(ze_result_t result, ze_event_pool_handle_t pool, const ze_event_desc_t* desc, ze_event_handle_t* made);

// Commands that the host has seen done, for the order of commands: races.cpp
void after_zeEventQueryKernelTimestamp(ze_result_t result, ze_event_handle_t event, ze_kernel_timestamp_result_t* times);
void after_zeFenceHostSynchronize(ze_result_t result, ze_fence_handle_t fence, uint64_t timeout);
void after_zeFenceQueryStatus(ze_result_t result, ze_fence_handle_t fence);
void after_zeCommandQueueSynchronize(ze_result_t result, ze_command_queue_handle_t queue, uint64_t timeout);
void after_zeDeviceSynchronize(ze_result_t result, ze_device_handle_t device);
void after_zeCommandListHostSynchronize(ze_result_t result, ze_command_list_handle_t list, uint64_t timeout);
void after_zeCommandQueueExecuteCommandLists(ze_result_t result, ze_command_queue_handle_t queue, uint32_t count,
                                             ze_command_list_handle_t* lists, ze_fence_handle_t fence);
void note_appended(ze_command_list_handle_t list);
// After every append.
inline void check_appended(ze_command_list_handle_t list) {
  if (follows_commands()) note_appended(list);
}

// Of every append that waits for events or signals one.
void check_append(ze_command_list_handle_t list, ze_event_handle_t signal, uint32_t n, ze_event_handle_t* waits);
// Of every kernel and image that a command uses.
void check_context(ze_command_list_handle_t list, ze_kernel_handle_t kernel);
void check_context(ze_command_list_handle_t list, ze_image_handle_t image);
// Of every launch; `given`: addresses of the arguments' values, where the kernel's own are not used; `signal`: may be nullptr.
void check_arguments(ze_command_list_handle_t list, ze_kernel_handle_t kernel, void* const* given, ze_event_handle_t signal);
// Of memory that a command uses, and of pointers that must be multiples of `alignment`.
void check_context(ze_command_list_handle_t list, const void* memory);
void check_alignment(const void* pointer, size_t alignment, const char* what);
// Of every structure that a program passes in: `wanted` is the type that belongs to it.
void check_structure(const void* structure, uint32_t wanted, const char* name);
// Of every event that the host asks, signals or waits for.
void check_host_visible(ze_event_handle_t event);

}  // namespace anyzero
