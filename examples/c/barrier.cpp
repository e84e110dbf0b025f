// A barrier between two commands: all earlier commands complete, and their writes are visible, before later ones begin.
#include <algorithm>

#include "check.h"

int main() {
  constexpr size_t kCount = 1 << 16;
  Setup s;
  uint32_t* first = s.local<uint32_t>(kCount);
  uint32_t* second = s.host<uint32_t>(kCount);
  std::fill_n(second, kCount, 0);
  ze_event_pool_handle_t pool = s.pool(3);
  ze_event_handle_t go = s.event(pool, 0), passed = s.event(pool, 1), filled = s.event(pool, 2);
  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();

  uint32_t pattern = 3;
  CHECK(zeCommandListAppendMemoryFill(list, first, &pattern, sizeof pattern, kCount * sizeof *first, filled, 0, nullptr));
  // It needs no events; here they make it observable. With events, a barrier waits for these alone, so the fill has one, too.
  ze_event_handle_t awaited[2] = {go, filled};
  CHECK(zeCommandListAppendBarrier(list, passed, 2, awaited));
  CHECK(zeCommandListAppendMemoryCopy(list, second, first, kCount * sizeof *first, nullptr, 0, nullptr));
  CHECK(zeCommandListClose(list));
  CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
  prove(zeCommandQueueSynchronize(queue, 50'000'000) == ZE_RESULT_NOT_READY && second[0] == 0,
        "the copy waits for the barrier, which waits for the host");
  prove(zeEventQueryStatus(passed) == ZE_RESULT_NOT_READY, "and signals its own event later");

  CHECK(zeEventHostSignal(go));
  CHECK(zeCommandQueueSynchronize(queue, kForever));
  prove(second[0] == 3 && second[kCount - 1] == 3, "the copy after the barrier read the whole fill");
  prove(zeEventQueryStatus(passed) == ZE_RESULT_SUCCESS, "the barrier has completed");

  for (ze_event_handle_t event : {go, passed, filled}) CHECK(zeEventDestroy(event));
  CHECK(zeEventPoolDestroy(pool));
  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeMemFree(s.context, first));
  CHECK(zeMemFree(s.context, second));
}
