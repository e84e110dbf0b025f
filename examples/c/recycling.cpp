// One command list for many batches. An event tells when the device has left the list, so that it may be emptied.
#include "check.h"

int main() {
  constexpr size_t kBytes = 4096;
  Setup s;
  unsigned char* memory = s.host<unsigned char>(kBytes);
  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();

  ze_event_pool_handle_t pool = s.pool(1);
  ze_event_desc_t event_desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .wait = ZE_EVENT_SCOPE_FLAG_HOST};
  ze_event_handle_t done = nullptr;
  CHECK(zeEventCreate(pool, &event_desc, &done));

  for (unsigned char batch = 1; batch <= 3; ++batch) {
    CHECK(zeCommandListAppendMemoryFill(list, memory, &batch, 1, kBytes, done, 0, nullptr));
    CHECK(zeCommandListClose(list));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
    CHECK(zeEventHostSynchronize(done, kForever));
    prove(memory[0] == batch && memory[kBytes - 1] == batch, "batch %u filled the memory", batch);
    CHECK(zeEventHostReset(done));
    CHECK(zeCommandListReset(list));
  }

  CHECK(zeEventDestroy(done));
  CHECK(zeEventPoolDestroy(pool));
  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeMemFree(s.context, memory));
}
