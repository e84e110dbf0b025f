// More local memory than the device has by default, for kernels that share much data within a group.
#include <algorithm>

#include "kernels.h"

int main() {
  Setup s;
  ze_device_compute_properties_t limits = {.stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES};
  CHECK(zeDeviceGetComputeProperties(s.device, &limits));
  ze_module_handle_t module = make_module(s, "larger_local_memory");
  ze_kernel_handle_t reverse = make_kernel(module, "reverse");

  uint32_t group = std::min(256u, limits.maxTotalGroupSize);
  int32_t* values = s.host<int32_t>(4 * group);
  for (uint32_t i = 0; i < 4 * group; ++i) values[i] = static_cast<int32_t>(i);
  CHECK(zeKernelSetGroupSize(reverse, group, 1, 1));
  CHECK(zeKernelSetArgumentValue(reverse, 0, sizeof values, &values));
  const size_t large = 2 * size_t{limits.maxSharedLocalMemory};
  CHECK(zeKernelSetArgumentValue(reverse, 1, large, nullptr));

  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();
  ze_group_count_t groups = {4, 1, 1};
  ze_result_t result = zeCommandListAppendLaunchKernel(list, reverse, &groups, nullptr, 0, nullptr);
  prove(result == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "by default there is less: %s", last_error());

  // Local memory shares the caches with other data; the kernel requests more of them.
  CHECK(zeKernelSetCacheConfig(reverse, ZE_CACHE_CONFIG_FLAG_LARGE_SLM));
  CHECK(zeCommandListAppendLaunchKernel(list, reverse, &groups, nullptr, 0, nullptr));
  s.run(queue, list);
  bool good = true;
  for (uint32_t i = 0; i < 4 * group; ++i) good &= values[i] == static_cast<int32_t>(i / group * group + group - 1 - i % group);
  prove(good, "each group had %zu bytes of local memory, twice as many as the device has by default", large);

  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeMemFree(s.context, values));
  CHECK(zeKernelDestroy(reverse));
  CHECK(zeModuleDestroy(module));
}
