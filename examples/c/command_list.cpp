// Create command lists, and show which queue accepts which list.
#include "check.h"

int main() {
  Setup s;
  ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, .commandQueueGroupOrdinal = 0, .flags = 0};
  ze_command_list_handle_t list = nullptr;
  CHECK(zeCommandListCreate(s.context, s.device, &desc, &list));
  ze_bool_t immediate = true;
  CHECK(zeCommandListIsImmediate(list, &immediate));
  prove(!immediate, "the list is a regular one");
  unsigned char *memory = s.host<unsigned char>(64), pattern = 9;
  *memory = 0;
  CHECK(zeCommandListAppendMemoryFill(list, memory, &pattern, 1, 64, nullptr, 0, nullptr));
  prove(*memory == 0, "a command list records; nothing runs until a queue executes it");

  ze_command_queue_handle_t queue = s.queue();
  ze_result_t open = zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr);
  prove(open == ZE_RESULT_ERROR_INVALID_ARGUMENT, "an open list is refused: %s", last_error());
  s.run(queue, list);
  prove(*memory == 9, "once it is closed, it runs");
  CHECK(zeCommandListDestroy(list));
  CHECK(zeMemFree(s.context, memory));

  // Commands of this list may be reordered between barriers.
  desc.flags = ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING;
  CHECK(zeCommandListCreate(s.context, s.device, &desc, &list));
  ze_command_list_flags_t told = 0;
  CHECK(zeCommandListGetFlags(list, &told));
  prove(told == ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING, "a list reports the flags it was created with");
  CHECK(zeCommandListDestroy(list));

  // A list for the copy-only group of the device runs on a queue of that group alone.
  desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, .commandQueueGroupOrdinal = 1};
  CHECK(zeCommandListCreate(s.context, s.device, &desc, &list));
  CHECK(zeCommandListClose(list));
  ze_result_t kind = zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr);
  prove(kind == ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "the wrong kind of queue is refused: %s", last_error());
  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
}
