// An event with a signal scope also orders memory: the first command's writes are visible on the device before the event is
// signalled.
#include <algorithm>

#include "check.h"

int main() {
  constexpr size_t kCount = 4096;
  Setup s;
  uint32_t* written = s.host<uint32_t>(kCount);
  uint32_t* read = s.host<uint32_t>(kCount);
  std::fill_n(written, kCount, 0);
  ze_event_pool_handle_t pool = s.pool(1);
  ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = 0, .signal = ZE_EVENT_SCOPE_FLAG_DEVICE, .wait = 0};
  ze_event_handle_t coherent = nullptr;
  CHECK(zeEventCreate(pool, &desc, &coherent));
  ze_event_scope_flags_t scope = 0;
  CHECK(zeEventGetSignalScope(coherent, &scope));
  prove(scope == ZE_EVENT_SCOPE_FLAG_DEVICE, "the event's signal reaches the whole device");

  ze_command_queue_handle_t queues[2] = {s.queue(), s.queue()};
  ze_command_list_handle_t lists[2] = {s.list(), s.list()};
  uint32_t pattern = 5;
  CHECK(zeCommandListAppendMemoryFill(lists[0], written, &pattern, sizeof pattern, kCount * sizeof *written, coherent, 0, nullptr));
  CHECK(zeCommandListAppendMemoryCopy(lists[1], read, written, kCount * sizeof *written, nullptr, 1, &coherent));
  for (ze_command_list_handle_t list : lists) CHECK(zeCommandListClose(list));

  // Submitted in the wrong order on purpose: without the event the copy would read zeros.
  CHECK(zeCommandQueueExecuteCommandLists(queues[1], 1, &lists[1], nullptr));
  prove(zeCommandQueueSynchronize(queues[1], 50'000'000) == ZE_RESULT_NOT_READY,
        "the second command waits for the memory of the first");
  CHECK(zeCommandQueueExecuteCommandLists(queues[0], 1, &lists[0], nullptr));
  for (ze_command_queue_handle_t queue : queues) CHECK(zeCommandQueueSynchronize(queue, kForever));
  prove(read[0] == 5 && read[kCount - 1] == 5, "the second command read what the first had written");

  CHECK(zeEventDestroy(coherent));
  CHECK(zeEventPoolDestroy(pool));
  for (ze_command_list_handle_t list : lists) CHECK(zeCommandListDestroy(list));
  for (ze_command_queue_handle_t queue : queues) CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeMemFree(s.context, written));
  CHECK(zeMemFree(s.context, read));
}
