// Local memory as large as the device has it, for kernels that share much within a group.
#include <algorithm>

#include "kernels.h"

int main() {
  Setup s;
  ze_device_compute_properties_t limits = {.stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES};
  CHECK(zeDeviceGetComputeProperties(s.device, &limits));
  ze_module_handle_t module = make_module(s, "larger_local_memory");
  ze_kernel_handle_t reverse = make_kernel(module, "reverse");
  // Where local memory and the data cache are one, this asks for more of the former; elsewhere it changes nothing.
  CHECK(zeKernelSetCacheConfig(reverse, ZE_CACHE_CONFIG_FLAG_LARGE_SLM));

  uint32_t group = std::min(256u, limits.maxTotalGroupSize);
  int32_t* values = s.host<int32_t>(4 * group);
  for (uint32_t i = 0; i < 4 * group; ++i) values[i] = static_cast<int32_t>(i);
  CHECK(zeKernelSetGroupSize(reverse, group, 1, 1));
  CHECK(zeKernelSetArgumentValue(reverse, 0, sizeof values, &values));
  CHECK(zeKernelSetArgumentValue(reverse, 1, limits.maxSharedLocalMemory, nullptr));

  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();
  ze_group_count_t groups = {4, 1, 1};
  CHECK(zeCommandListAppendLaunchKernel(list, reverse, &groups, nullptr, 0, nullptr));
  s.run(queue, list);
  bool good = true;
  for (uint32_t i = 0; i < 4 * group; ++i) good &= values[i] == static_cast<int32_t>(i / group * group + group - 1 - i % group);
  prove(good, "each group had %u bytes of local memory", limits.maxSharedLocalMemory);

  CHECK(zeCommandListReset(list));
  ze_result_t result = zeKernelSetArgumentValue(reverse, 1, 2 * size_t{limits.maxSharedLocalMemory}, nullptr);
  if (result == ZE_RESULT_SUCCESS) result = zeCommandListAppendLaunchKernel(list, reverse, &groups, nullptr, 0, nullptr);
  prove(result == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY || result == ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
        "twice as much is refused (%#x)", static_cast<unsigned>(result));

  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeMemFree(s.context, values));
  CHECK(zeKernelDestroy(reverse));
  CHECK(zeModuleDestroy(module));
}
