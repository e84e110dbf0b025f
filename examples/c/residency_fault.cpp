// needs: ANYZERO_DEVICES=cpu:paging=off
// What happens when a device without on-demand paging meets memory that was evicted: the queue is lost, with a report; the program
// goes on.
#include "check.h"

int main() {
  Setup s;
  uint32_t* memory = s.local<uint32_t>(1024);
  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();
  uint32_t pattern = 1;
  CHECK(zeCommandListAppendMemoryFill(list, memory, &pattern, sizeof pattern, 4096, nullptr, 0, nullptr));
  CHECK(zeCommandListClose(list));

  CHECK(zeContextEvictMemory(s.context, s.device, memory, 4096));
  // A small list may run while it is submitted, so either call may bring the news.
  ze_result_t result = zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr);
  if (result == ZE_RESULT_SUCCESS) result = zeCommandQueueSynchronize(queue, kForever);
  prove(result == ZE_RESULT_ERROR_DEVICE_LOST, "the fault is reported:\n    %s", last_error());
  prove(zeContextGetStatus(s.context) == ZE_RESULT_ERROR_DEVICE_LOST, "the context knows that it lost a queue");

  // Another queue of another context does not care.
  Setup other;
  uint32_t* fresh = other.host<uint32_t>(1);
  ze_command_queue_handle_t healthy = other.queue();
  ze_command_list_handle_t again = other.list();
  CHECK(zeCommandListAppendMemoryFill(again, fresh, &pattern, sizeof pattern, sizeof pattern, nullptr, 0, nullptr));
  other.run(healthy, again);
  prove(*fresh == 1, "other contexts keep working");

  for (ze_command_list_handle_t each : {list, again}) CHECK(zeCommandListDestroy(each));
  for (ze_command_queue_handle_t each : {queue, healthy}) CHECK(zeCommandQueueDestroy(each));
  CHECK(zeMemFree(s.context, memory));
  CHECK(zeMemFree(other.context, fresh));
}
