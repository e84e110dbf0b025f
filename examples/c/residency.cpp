// needs: ANYZERO_DEVICES=cpu:paging=off
// A device without on-demand paging accesses only resident memory. Arguments of a command become resident with it; memory that
// a kernel reaches through pointers must be named by the program.
#include "kernels.h"

struct Node {
  Node* next;
  uint64_t value;
};

int main() {
  Setup s;
  ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  CHECK(zeDeviceGetProperties(s.device, &properties));
  prove(!(properties.flags & ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING), "the device has no on-demand paging");

  // begin -> middle -> end
  Node *begin = s.host<Node>(1), *middle = s.host<Node>(1), *end = s.host<Node>(1);
  *begin = {middle, 1};
  *middle = {end, 10};
  *end = {nullptr, 100};
  uint64_t* total = s.host<uint64_t>(1);
  ze_module_handle_t module = make_module(s, "residency");
  ze_kernel_handle_t add_up = make_kernel(module, "add_up");
  set_arguments(add_up, begin, total);
  CHECK(zeKernelSetGroupSize(add_up, 1, 1, 1));
  ze_group_count_t one = {1, 1, 1};

  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();
  ze_fence_desc_t fence_desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
  ze_fence_handle_t fence = nullptr;
  CHECK(zeFenceCreate(queue, &fence_desc, &fence));

  // Coarse: the kernel may follow pointers to any memory of the host, so all of it is resident while it runs.
  CHECK(zeKernelSetIndirectAccess(add_up, ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST));
  CHECK(zeCommandListAppendLaunchKernel(list, add_up, &one, nullptr, 0, nullptr));
  CHECK(zeCommandListClose(list));
  CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
  CHECK(zeFenceHostSynchronize(fence, kForever));
  prove(*total == 111, "the kernel could access all host memory");

  // Fine: exactly the nodes that it will reach are made resident before, and evicted after it.
  CHECK(zeKernelSetIndirectAccess(add_up, 0));
  CHECK(zeCommandListReset(list));
  CHECK(zeCommandListAppendLaunchKernel(list, add_up, &one, nullptr, 0, nullptr));
  CHECK(zeCommandListClose(list));
  for (Node* node : {middle, end}) CHECK(zeContextMakeMemoryResident(s.context, s.device, node, sizeof(Node)));
  end->value = 200;
  CHECK(zeFenceReset(fence));
  CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
  CHECK(zeFenceHostSynchronize(fence, kForever));
  for (Node* node : {middle, end}) CHECK(zeContextEvictMemory(s.context, s.device, node, sizeof(Node)));
  prove(*total == 211, "the linked nodes were resident during the work");

  CHECK(zeFenceDestroy(fence));
  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeKernelDestroy(add_up));
  CHECK(zeModuleDestroy(module));
  for (Node* node : {begin, middle, end}) CHECK(zeMemFree(s.context, node));
  CHECK(zeMemFree(s.context, total));
}
