// One command list for many batches. An event signals that the device has finished the list, which may then be reset.
#include "check.h"

int main() {
  constexpr size_t kBytes = 4096;
  Setup s;
  unsigned char* memory = s.host<unsigned char>(kBytes);
  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();

  ze_event_pool_handle_t pool = s.pool(2);
  ze_event_handle_t go = s.event(pool, 0), done = s.event(pool, 1);

  for (unsigned char batch = 1; batch <= 3; ++batch) {
    CHECK(zeCommandListAppendMemoryFill(list, memory, &batch, 1, kBytes, done, 1, &go));
    CHECK(zeCommandListClose(list));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
    {
      std::jthread later = signal_later(go);  // until then the list is in use
      CHECK(zeEventHostSynchronize(done, kForever));
      prove(memory[0] == batch && memory[kBytes - 1] == batch, "batch %u filled the memory", batch);
    }
    for (ze_event_handle_t event : {go, done}) CHECK(zeEventHostReset(event));
    CHECK(zeCommandListReset(list));
  }

  for (ze_event_handle_t event : {go, done}) CHECK(zeEventDestroy(event));
  CHECK(zeEventPoolDestroy(pool));
  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeMemFree(s.context, memory));
}
