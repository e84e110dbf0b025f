// An event without scopes orders two commands without a memory guarantee: the second starts after the first has ended.
#include "check.h"

int main() {
  Setup s;
  uint64_t* stamps = s.host<uint64_t>(2);
  ze_event_pool_handle_t pool = s.pool(1);
  ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = 0, .signal = 0, .wait = 0};
  ze_event_handle_t first_done = nullptr;
  CHECK(zeEventCreate(pool, &desc, &first_done));

  // Two lists on two queues are unordered; the event orders them.
  ze_command_queue_handle_t queues[2] = {s.queue(), s.queue()};
  ze_command_list_handle_t lists[2] = {s.list(), s.list()};
  CHECK(zeCommandListAppendWriteGlobalTimestamp(lists[0], &stamps[0], first_done, 0, nullptr));
  CHECK(zeCommandListAppendWriteGlobalTimestamp(lists[1], &stamps[1], nullptr, 1, &first_done));
  for (ze_command_list_handle_t list : lists) CHECK(zeCommandListClose(list));

  CHECK(zeCommandQueueExecuteCommandLists(queues[1], 1, &lists[1], nullptr));
  prove(zeCommandQueueSynchronize(queues[1], 1000000) == ZE_RESULT_NOT_READY, "the second command waits for the first");
  CHECK(zeCommandQueueExecuteCommandLists(queues[0], 1, &lists[0], nullptr));
  for (ze_command_queue_handle_t queue : queues) CHECK(zeCommandQueueSynchronize(queue, kForever));
  prove(stamps[0] <= stamps[1], "they ran in the order of the event, not of submission");

  CHECK(zeEventDestroy(first_done));
  CHECK(zeEventPoolDestroy(pool));
  for (ze_command_list_handle_t list : lists) CHECK(zeCommandListDestroy(list));
  for (ze_command_queue_handle_t queue : queues) CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeMemFree(s.context, stamps));
}
