// A barrier between two commands: everything before it is done, and visible, before anything after it begins.
#include "check.h"

int main() {
  constexpr size_t kCount = 1 << 16;
  Setup s;
  uint32_t* first = s.local<uint32_t>(kCount);
  uint32_t* second = s.host<uint32_t>(kCount);
  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();

  uint32_t pattern = 3;
  CHECK(zeCommandListAppendMemoryFill(list, first, &pattern, sizeof pattern, kCount * sizeof *first, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendMemoryCopy(list, second, first, kCount * sizeof *first, nullptr, 0, nullptr));
  s.run(queue, list);
  prove(second[0] == 3 && second[kCount - 1] == 3, "the copy behind the barrier saw the whole fill");

  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeMemFree(s.context, first));
  CHECK(zeMemFree(s.context, second));
}
