// A cooperative launch: all its groups run at the same time, so they may wait for each other.
#include <algorithm>
#include <cmath>

#include "kernels.h"

namespace {

// The first queue group that supports cooperative launches.
uint32_t cooperative_ordinal(ze_device_handle_t device) {
  uint32_t count = 0;
  CHECK(zeDeviceGetCommandQueueGroupProperties(device, &count, nullptr));
  std::vector<ze_command_queue_group_properties_t> groups(count, {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES});
  CHECK(zeDeviceGetCommandQueueGroupProperties(device, &count, groups.data()));
  auto found = std::find_if(groups.begin(), groups.end(), [](const ze_command_queue_group_properties_t& group) {
    return group.flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS;
  });
  prove(found != groups.end(), "the device has a queue group for cooperative kernels");
  return static_cast<uint32_t>(found - groups.begin());
}

}  // namespace

int main() {
  constexpr uint32_t kGroup = 32;
  Setup s;
  ze_module_handle_t module = make_module(s, "cooperative_kernel");
  ze_kernel_handle_t share = make_kernel(module, "share");
  CHECK(zeKernelSetGroupSize(share, kGroup, 1, 1));
  uint32_t most = 0;
  CHECK(zeKernelSuggestMaxCooperativeGroupCount(share, &most));
  prove(most >= 1, "the driver reports how many groups can run concurrently");

  uint32_t groups = std::min(most, 8u), count = groups * kGroup;
  float* values = s.host<float>(count);
  float* sums = s.host<float>(groups);
  int32_t* arrived = s.host<int32_t>(1);
  float whole = 0;
  for (uint32_t i = 0; i < count; ++i) whole += values[i] = static_cast<float>(i);
  *arrived = 0;
  set_arguments(share, values, sums, arrived);

  ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                  .ordinal = cooperative_ordinal(s.device),
                                  .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
  ze_command_list_handle_t list = nullptr;
  CHECK(zeCommandListCreateImmediate(s.context, s.device, &desc, &list));
  ze_group_count_t all = {groups, 1, 1};
  CHECK(zeCommandListAppendLaunchCooperativeKernel(list, share, &all, nullptr, 0, nullptr));
  bool good = true;
  for (uint32_t i = 0; i < count; ++i) good &= std::fabs(values[i] - static_cast<float>(i) / whole) < 1e-6f;
  prove(good, "the groups waited for each other and shared one sum");

  ze_group_count_t too_many = {most + 1, 1, 1};
  prove(zeCommandListAppendLaunchCooperativeKernel(list, share, &too_many, nullptr, 0, nullptr) != ZE_RESULT_SUCCESS,
        "more groups than that are refused, because they would deadlock");

  CHECK(zeCommandListDestroy(list));
  for (void* memory : std::initializer_list<void*>{values, sums, arrived}) CHECK(zeMemFree(s.context, memory));
  CHECK(zeKernelDestroy(share));
  CHECK(zeModuleDestroy(module));
}
