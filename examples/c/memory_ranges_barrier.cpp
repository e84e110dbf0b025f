// A barrier for memory ranges: only these need to be coherent for later commands.
#include <algorithm>

#include "check.h"

int main() {
  constexpr size_t kCount = 4096, kBytes = kCount * sizeof(uint32_t);
  Setup s;
  uint32_t* one = s.local<uint32_t>(kCount);
  uint32_t* other = s.local<uint32_t>(kCount);
  uint32_t* back = s.host<uint32_t>(2 * kCount);
  std::fill_n(back, 2 * kCount, 0);
  ze_event_pool_handle_t pool = s.pool(4);
  ze_event_handle_t go = s.event(pool, 0), passed = s.event(pool, 1), filled[2] = {s.event(pool, 2), s.event(pool, 3)};
  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();

  uint32_t patterns[2] = {1, 2};
  CHECK(zeCommandListAppendMemoryFill(list, one, &patterns[0], sizeof(uint32_t), kBytes, filled[0], 0, nullptr));
  CHECK(zeCommandListAppendMemoryFill(list, other, &patterns[1], sizeof(uint32_t), kBytes, filled[1], 0, nullptr));
  const size_t sizes[2] = {kBytes, kBytes};
  const void* ranges[2] = {one, other};
  // It needs no events; here they make it observable. With events, a barrier waits for these alone, so the fills have some, too.
  ze_event_handle_t awaited[3] = {go, filled[0], filled[1]};
  CHECK(zeCommandListAppendMemoryRangesBarrier(list, 2, sizes, ranges, passed, 3, awaited));
  CHECK(zeCommandListAppendMemoryCopy(list, back, one, kBytes, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendMemoryCopy(list, back + kCount, other, kBytes, nullptr, 0, nullptr));
  CHECK(zeCommandListClose(list));
  CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
  prove(zeCommandQueueSynchronize(queue, 50'000'000) == ZE_RESULT_NOT_READY && back[0] == 0,
        "the copies wait for the barrier, which waits for the host");

  CHECK(zeEventHostSignal(go));
  CHECK(zeCommandQueueSynchronize(queue, kForever));
  prove(back[kCount - 1] == 1 && back[kCount] == 2, "both ranges were coherent after the barrier");
  prove(zeEventQueryStatus(passed) == ZE_RESULT_SUCCESS, "the barrier has completed");

  for (ze_event_handle_t event : {go, passed, filled[0], filled[1]}) CHECK(zeEventDestroy(event));
  CHECK(zeEventPoolDestroy(pool));
  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  for (uint32_t* memory : {one, other, back}) CHECK(zeMemFree(s.context, memory));
}
