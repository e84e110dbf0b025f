// Two processes, one event pool: a command of the receiver signals an event on which the sender sleeps.
#include "peer.h"

namespace {

constexpr uint32_t kPlace = 5;

ze_event_handle_t event_in(ze_event_pool_handle_t pool) {
  ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = kPlace, .wait = ZE_EVENT_SCOPE_FLAG_HOST};
  ze_event_handle_t event = nullptr;
  CHECK(zeEventCreate(pool, &desc, &event));
  return event;
}

int receiver() {
  Setup s;
  ze_ipc_event_pool_handle_t ipc;
  receive_bytes(STDIN_FILENO, &ipc, sizeof ipc);
  ze_event_pool_handle_t pool = nullptr;
  CHECK(zeEventPoolOpenIpcHandle(s.context, ipc, &pool));
  ze_event_handle_t event = event_in(pool);

  char ready = 0;
  receive_bytes(STDIN_FILENO, &ready, 1);
  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();
  uint32_t *memory = s.local<uint32_t>(1024), pattern = 1;
  CHECK(zeCommandListAppendMemoryFill(list, memory, &pattern, sizeof pattern, 4096, event, 0, nullptr));
  s.run(queue, list);
  prove(zeEventQueryStatus(event) == ZE_RESULT_SUCCESS, "receiver %d: a command signalled event %u", static_cast<int>(getpid()),
        kPlace);

  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeMemFree(s.context, memory));
  CHECK(zeEventDestroy(event));
  CHECK(zeEventPoolCloseIpcHandle(pool));
  send_bytes(STDIN_FILENO, "d", 1);
  return 0;
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) return receiver();
  Peer peer;
  Setup s;
  ze_event_pool_desc_t desc = {
      .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_IPC | ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = 10};
  ze_event_pool_handle_t pool = nullptr;
  CHECK(zeEventPoolCreate(s.context, &desc, 1, &s.device, &pool));
  ze_ipc_event_pool_handle_t ipc;
  CHECK(zeEventPoolGetIpcHandle(pool, &ipc));
  send_bytes(peer.socket, &ipc, sizeof ipc);

  // The same index in the pool is the same event in both processes.
  ze_event_handle_t event = event_in(pool);
  prove(zeEventQueryStatus(event) == ZE_RESULT_NOT_READY, "sender %d: event %u is not signalled", static_cast<int>(getpid()),
        kPlace);
  send_bytes(peer.socket, "g", 1);
  CHECK(zeEventHostSynchronize(event, kForever));
  prove(zeEventQueryStatus(event) == ZE_RESULT_SUCCESS, "sender %d: was woken by the other process", static_cast<int>(getpid()));

  // The receiver releases it first, then the sender.
  char done = 0;
  receive_bytes(peer.socket, &done, 1);
  CHECK(zeEventDestroy(event));
  CHECK(zeEventPoolPutIpcHandle(s.context, ipc));
  CHECK(zeEventPoolDestroy(pool));
}
