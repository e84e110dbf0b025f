// A compute queue and a copy queue pass a number back and forth; only events keep them in order.
#include "check.h"

enum { ROUNDS = 200 };

// The first group without the compute flag.
static uint32_t copy_ordinal(ze_device_handle_t device) {
  ze_command_queue_group_properties_t groups[8];
  uint32_t count = 8;
  for (uint32_t i = 0; i < count; ++i)
    groups[i] = (ze_command_queue_group_properties_t){.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES};
  CHECK(zeDeviceGetCommandQueueGroupProperties(device, &count, groups));
  for (uint32_t i = 0; i < count; ++i)
    if (!(groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE)) return i;
  prove(false, "the device has queues for copies");
  return 0;
}

int main(void) {
  setup_t s = set_up();
  uint32_t copy = copy_ordinal(s.device);
  prove(true, "copies run on queues of group %u", copy);
  uint32_t* ball = device_memory(s, sizeof *ball);
  uint32_t* log = host_memory(s, ROUNDS * sizeof *log);
  ze_event_pool_handle_t pool = make_pool(s, 2 * ROUNDS, 0);
  ze_event_handle_t filled[ROUNDS], copied[ROUNDS];
  ze_command_list_handle_t fills = make_list(s, 0), copies = make_list(s, copy);
  for (uint32_t i = 0; i < ROUNDS; ++i) {
    filled[i] = make_event(pool, 2 * i);
    copied[i] = make_event(pool, 2 * i + 1);
    uint32_t number = 1000 + i;
    CHECK(zeCommandListAppendMemoryFill(fills, ball, &number, sizeof number, sizeof number, filled[i], i > 0,
                                        i > 0 ? &copied[i - 1] : NULL));
    CHECK(zeCommandListAppendMemoryCopy(copies, log + i, ball, sizeof *ball, copied[i], 1, &filled[i]));
  }
  CHECK(zeCommandListClose(fills));
  CHECK(zeCommandListClose(copies));
  ze_command_queue_handle_t filler = make_queue(s, 0), copier = make_queue(s, copy);
  for (int again = 0; again < 2; ++again) {
    memset(log, 0, ROUNDS * sizeof *log);
    // The one that has to wait goes first.
    CHECK(zeCommandQueueExecuteCommandLists(copier, 1, &copies, NULL));
    CHECK(zeCommandQueueExecuteCommandLists(filler, 1, &fills, NULL));
    CHECK(zeEventHostSynchronize(copied[ROUNDS - 1], FOREVER));
    CHECK(zeCommandQueueSynchronize(copier, FOREVER));
    CHECK(zeCommandQueueSynchronize(filler, FOREVER));
    int wrong = 0;
    for (uint32_t i = 0; i < ROUNDS; ++i) wrong += log[i] != 1000 + i;
    prove(wrong == 0, "%d times there and back, %d numbers wrong", ROUNDS, wrong);
    for (int i = 0; i < ROUNDS; ++i) {
      CHECK(zeEventHostReset(filled[i]));
      CHECK(zeEventHostReset(copied[i]));
    }
  }
  for (int i = 0; i < ROUNDS; ++i) {
    CHECK(zeEventDestroy(filled[i]));
    CHECK(zeEventDestroy(copied[i]));
  }
  CHECK(zeEventPoolDestroy(pool));
  CHECK(zeCommandListDestroy(fills));
  CHECK(zeCommandListDestroy(copies));
  CHECK(zeCommandQueueDestroy(filler));
  CHECK(zeCommandQueueDestroy(copier));
  CHECK(zeMemFree(s.context, ball));
  CHECK(zeMemFree(s.context, log));
  CHECK(zeContextDestroy(s.context));
}
