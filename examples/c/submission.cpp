// Record commands, close the list, execute it on a queue, wait, and reset the list for the next commands.
#include "check.h"

int main() {
  constexpr size_t kCount = 1024;
  Setup s;
  uint32_t* from = s.host<uint32_t>(kCount);
  uint32_t* device = s.local<uint32_t>(kCount);
  uint32_t* to = s.host<uint32_t>(kCount);
  for (uint32_t i = 0; i < kCount; ++i) from[i] = i * i, to[i] = 0;
  // Signalled later, so that the list is still pending after its submission.
  ze_event_pool_handle_t pool = s.pool(1);
  ze_event_handle_t go = s.event(pool, 0);

  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();
  CHECK(zeCommandListAppendMemoryCopy(list, device, from, kCount * sizeof *from, nullptr, 1, &go));
  CHECK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendMemoryCopy(list, to, device, kCount * sizeof *from, nullptr, 0, nullptr));
  CHECK(zeCommandListClose(list));
  prove(to[2] == 0, "nothing has run yet");

  {
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
    std::jthread later = signal_later(go);
    CHECK(zeCommandQueueSynchronize(queue, kForever));
    prove(to[kCount - 1] == (kCount - 1) * (kCount - 1), "the data was copied to the device and back");
  }

  // The same list again: it reads the new contents of `from`.
  from[0] = 7;
  CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
  CHECK(zeCommandQueueSynchronize(queue, kForever));
  prove(to[0] == 7, "the list ran a second time without being recorded again");

  CHECK(zeCommandListReset(list));
  from[0] = 8;
  s.run(queue, list);
  prove(to[0] == 7, "after a reset the list is empty and open");

  CHECK(zeEventDestroy(go));
  CHECK(zeEventPoolDestroy(pool));
  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  for (uint32_t* memory : {from, device, to}) CHECK(zeMemFree(s.context, memory));
}
