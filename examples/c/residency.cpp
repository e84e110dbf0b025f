// needs: ANYZERO_DEVICES=cpu:paging=off
// A device that cannot page memory in by itself reaches only what is resident. What a command names becomes resident with it; nodes
// that are found by following pointers are the program's to name.
#include "check.h"

struct Node {
  Node* next;
  uint64_t value;
};

int main() {
  Setup s;
  ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  CHECK(zeDeviceGetProperties(s.device, &properties));
  prove(!(properties.flags & ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING), "the device has no on-demand paging");

  // begin -> next -> next
  Node* begin = s.host<Node>(1);
  begin->next = s.host<Node>(1);
  begin->next->next = s.host<Node>(1);
  begin->next->next->next = nullptr;
  Node* copy = s.host<Node>(1);

  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();
  ze_fence_desc_t fence_desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
  ze_fence_handle_t fence = nullptr;
  CHECK(zeFenceCreate(queue, &fence_desc, &fence));

  // Coarse: both ends are named by the command, so the driver sees to them.
  CHECK(zeCommandListAppendMemoryCopy(list, copy, begin, sizeof(Node), nullptr, 0, nullptr));
  CHECK(zeCommandListClose(list));
  CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
  CHECK(zeFenceHostSynchronize(fence, kForever));
  prove(copy->next == begin->next, "a node that the command names was reached without further ado");

  // Fine: the other nodes are made resident before the work that would follow the links, and evicted after it.
  for (Node* node = begin->next; node; node = node->next)
    CHECK(zeContextMakeMemoryResident(s.context, s.device, node, sizeof(Node)));
  CHECK(zeFenceReset(fence));
  CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
  CHECK(zeFenceHostSynchronize(fence, kForever));
  for (Node* node = begin->next; node; node = node->next) CHECK(zeContextEvictMemory(s.context, s.device, node, sizeof(Node)));
  prove(true, "the linked nodes were resident during the work, and are evicted now");

  CHECK(zeFenceDestroy(fence));
  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeMemFree(s.context, begin->next->next));
  CHECK(zeMemFree(s.context, begin->next));
  CHECK(zeMemFree(s.context, begin));
  CHECK(zeMemFree(s.context, copy));
}
