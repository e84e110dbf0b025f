// An event with a signal scope also orders memory: what the first command wrote is visible on the device before the event is
// signalled.
#include "check.h"

int main() {
  constexpr size_t kCount = 4096;
  Setup s;
  uint32_t* written = s.local<uint32_t>(kCount);
  uint32_t* read = s.host<uint32_t>(kCount);
  ze_event_pool_handle_t pool = s.pool(1);
  ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = 0, .signal = ZE_EVENT_SCOPE_FLAG_DEVICE, .wait = 0};
  ze_event_handle_t coherent = nullptr;
  CHECK(zeEventCreate(pool, &desc, &coherent));
  ze_event_scope_flags_t scope = 0;
  CHECK(zeEventGetSignalScope(coherent, &scope));
  prove(scope == ZE_EVENT_SCOPE_FLAG_DEVICE, "the event's signal reaches the whole device");

  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();
  uint32_t pattern = 5;
  CHECK(zeCommandListAppendMemoryFill(list, written, &pattern, sizeof pattern, kCount * sizeof *written, coherent, 0, nullptr));
  CHECK(zeCommandListAppendMemoryCopy(list, read, written, kCount * sizeof *written, nullptr, 1, &coherent));
  s.run(queue, list);
  prove(read[0] == 5 && read[kCount - 1] == 5, "the second command read what the first had written");

  CHECK(zeEventDestroy(coherent));
  CHECK(zeEventPoolDestroy(pool));
  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeMemFree(s.context, written));
  CHECK(zeMemFree(s.context, read));
}
