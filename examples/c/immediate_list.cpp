// Commands without a queue: an immediate list submits each command as it is appended. First asynchronous, with two copies chained
// by events; then synchronous, where a call returns when its command is done.
#include <cstring>

#include "check.h"

namespace {

ze_command_list_handle_t immediate(const Setup& s, ze_command_queue_mode_t mode) {
  ze_command_queue_desc_t desc = {
      .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .ordinal = 0, .index = 0, .flags = 0, .mode = mode};
  ze_command_list_handle_t list = nullptr;
  CHECK(zeCommandListCreateImmediate(s.context, s.device, &desc, &list));
  return list;
}

}  // namespace

int main() {
  constexpr size_t kBytes = 4096;
  Setup s;
  unsigned char* host = s.host<unsigned char>(kBytes);
  unsigned char* device = s.local<unsigned char>(kBytes);
  unsigned char stack[kBytes] = {};
  std::memset(host, 0x5a, kBytes);

  ze_event_pool_handle_t pool = s.pool(2);
  ze_event_handle_t events[2];
  for (uint32_t i = 0; i < 2; ++i) {
    ze_event_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = i, .signal = ZE_EVENT_SCOPE_FLAG_DEVICE, .wait = ZE_EVENT_SCOPE_FLAG_HOST};
    CHECK(zeEventCreate(pool, &desc, &events[i]));
  }

  ze_command_list_handle_t list = immediate(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  CHECK(zeCommandListAppendMemoryCopy(list, device, host, kBytes, events[0], 0, nullptr));
  CHECK(zeCommandListAppendMemoryCopy(list, stack, device, kBytes, events[1], 1, &events[0]));
  CHECK(zeEventHostSynchronize(events[1], kForever));
  prove(std::memcmp(stack, host, kBytes) == 0, "asynchronous: host -> device -> stack, chained by events");
  prove(zeEventQueryStatus(events[0]) == ZE_RESULT_SUCCESS, "the event between the two copies is signalled too");
  CHECK(zeCommandListDestroy(list));

  list = immediate(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  std::memset(host, 0xa5, kBytes);
  CHECK(zeCommandListAppendMemoryCopy(list, stack, host, kBytes, nullptr, 0, nullptr));
  prove(std::memcmp(stack, host, kBytes) == 0, "synchronous: the copy is done when the call returns");
  CHECK(zeCommandListDestroy(list));

  for (ze_event_handle_t event : events) CHECK(zeEventDestroy(event));
  CHECK(zeEventPoolDestroy(pool));
  CHECK(zeMemFree(s.context, host));
  CHECK(zeMemFree(s.context, device));
}
