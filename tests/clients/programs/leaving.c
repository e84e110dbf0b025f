// Exits without cleanup: commands that wait for ever, an open list, memory and handles that are never freed.
#include <pthread.h>

#include "check.h"

static ze_event_handle_t never;

static void* wait_for_ever(void* unused) {
  CHECK(zeEventHostSynchronize(never, FOREVER));
  return unused;
}

int main(void) {
  setup_t s = set_up();
  never = make_event(make_pool(s, 1, 0), 0);
  uint32_t *memory = host_memory(s, 1 << 20), pattern = 1;
  for (uint32_t mode = 0; mode < 8; ++mode) {
    ze_command_list_handle_t list = make_immediate(s, 0, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    CHECK(zeCommandListAppendMemoryFill(list, memory, &pattern, sizeof pattern, 1 << 20, NULL, 1, &never));
  }
  ze_command_queue_handle_t queue = make_queue(s, 0);
  ze_command_list_handle_t closed = make_list(s, 0), open = make_list(s, 0);
  CHECK(zeCommandListAppendWaitOnEvents(closed, 1, &never));
  CHECK(zeCommandListClose(closed));
  CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &closed, NULL));
  CHECK(zeCommandListAppendMemoryFill(open, memory, &pattern, sizeof pattern, 64, NULL, 0, NULL));
  pthread_t thread;
  if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0) return 1;
  prove(zeCommandQueueSynchronize(queue, 1000000) == ZE_RESULT_NOT_READY,
        "nine queues and a thread wait for an event that never comes");
  return 0;
}
