// Events order commands with each other and with the host: device to host, host to device, and between two queues.
#include "check.h"

int main() {
  Setup s;
  uint32_t* memory = s.host<uint32_t>(2);
  memory[0] = memory[1] = 0;

  // A pool holds the memory of its events; each event is one place in it.
  ze_event_pool_desc_t pool_desc = {
      .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = 3};
  ze_event_pool_handle_t pool = nullptr;
  CHECK(zeEventPoolCreate(s.context, &pool_desc, 0, nullptr, &pool));
  ze_event_handle_t go, filled, copied;
  uint32_t index = 0;
  for (ze_event_handle_t* event : {&go, &filled, &copied}) {
    ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = index++, .wait = ZE_EVENT_SCOPE_FLAG_HOST};
    CHECK(zeEventCreate(pool, &desc, event));
  }

  ze_command_queue_handle_t compute = s.queue();
  ze_command_list_handle_t fill = s.list();
  uint32_t pattern = 11;
  CHECK(zeCommandListAppendMemoryFill(fill, memory, &pattern, 4, 4, filled, 1, &go));
  CHECK(zeCommandListClose(fill));

  // The copy-only group of the device runs in parallel to the compute group.
  ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .ordinal = 1};
  ze_command_list_desc_t list_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, .commandQueueGroupOrdinal = 1};
  ze_command_queue_handle_t copier = nullptr;
  ze_command_list_handle_t copy = nullptr;
  CHECK(zeCommandQueueCreate(s.context, s.device, &queue_desc, &copier));
  CHECK(zeCommandListCreate(s.context, s.device, &list_desc, &copy));
  CHECK(zeCommandListAppendMemoryCopy(copy, memory + 1, memory, 4, copied, 1, &filled));
  CHECK(zeCommandListClose(copy));

  // Submitted in the wrong order on purpose.
  CHECK(zeCommandQueueExecuteCommandLists(copier, 1, &copy, nullptr));
  CHECK(zeCommandQueueExecuteCommandLists(compute, 1, &fill, nullptr));
  prove(zeEventHostSynchronize(copied, 50'000'000) == ZE_RESULT_NOT_READY,
        "both queues wait: one for the host, one for the other queue");
  {
    std::jthread later = signal_later(go);  // while this thread waits
    CHECK(zeEventHostSynchronize(copied, kForever));
    prove(memory[1] == 11, "host -> compute queue -> copy queue -> host");
  }
  prove(zeEventQueryStatus(go) == ZE_RESULT_SUCCESS, "an event stays signalled until it is reset");
  CHECK(zeEventHostReset(go));
  prove(zeEventQueryStatus(go) == ZE_RESULT_NOT_READY, "which the host may do");
  CHECK(zeCommandListReset(fill));
  CHECK(zeCommandListAppendEventReset(fill, filled));
  prove(zeEventQueryStatus(filled) == ZE_RESULT_SUCCESS, "the event of the fill is still signalled");
  s.run(compute, fill);
  prove(zeEventQueryStatus(filled) == ZE_RESULT_NOT_READY, "and a command may reset it too");

  for (ze_event_handle_t event : {go, filled, copied}) CHECK(zeEventDestroy(event));
  CHECK(zeEventPoolDestroy(pool));
  for (ze_command_list_handle_t list : {fill, copy}) CHECK(zeCommandListDestroy(list));
  for (ze_command_queue_handle_t queue : {compute, copier}) CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeMemFree(s.context, memory));
}
