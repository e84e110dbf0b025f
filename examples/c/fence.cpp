// A fence signals to the host that a submission has completed: create, submit, query, wait, reset.
#include "check.h"

int main() {
  Setup s;
  uint32_t* memory = s.host<uint32_t>(1);
  *memory = 0;
  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();

  // The list waits for this event, so that the fence can be queried before the work is done.
  ze_event_pool_handle_t pool = s.pool(1);
  ze_event_handle_t go = s.event(pool, 0);

  ze_fence_desc_t fence_desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC, .flags = 0};
  ze_fence_handle_t fence = nullptr;
  CHECK(zeFenceCreate(queue, &fence_desc, &fence));

  uint32_t pattern = 42;
  CHECK(zeCommandListAppendMemoryFill(list, memory, &pattern, sizeof pattern, sizeof *memory, nullptr, 1, &go));
  CHECK(zeCommandListClose(list));
  CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
  prove(zeFenceQueryStatus(fence) == ZE_RESULT_NOT_READY, "the fence is not signalled while the list waits");
  prove(zeFenceHostSynchronize(fence, 1000000) == ZE_RESULT_NOT_READY, "a wait of one millisecond times out");

  {
    std::jthread later = signal_later(go);
    CHECK(zeFenceHostSynchronize(fence, kForever));
    prove(*memory == 42, "after the fence the result is visible");
  }
  CHECK(zeFenceReset(fence));
  prove(zeFenceQueryStatus(fence) == ZE_RESULT_NOT_READY, "a reset fence is not signalled any more");
  CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
  CHECK(zeFenceHostSynchronize(fence, kForever));
  prove(zeFenceQueryStatus(fence) == ZE_RESULT_SUCCESS, "and can be submitted again");

  CHECK(zeFenceDestroy(fence));
  CHECK(zeEventDestroy(go));
  CHECK(zeEventPoolDestroy(pool));
  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeMemFree(s.context, memory));
}
