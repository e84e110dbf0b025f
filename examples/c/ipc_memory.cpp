// Two processes, one allocation: the sender exports device memory, the receiver opens it, reads it and writes to it.
#include "peer.h"

namespace {

constexpr size_t kCount = 1024, kBytes = kCount * sizeof(uint32_t);

void copy(const Setup& s, void* to, const void* from) {
  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();
  CHECK(zeCommandListAppendMemoryCopy(list, to, from, kBytes, nullptr, 0, nullptr));
  s.run(queue, list);
  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
}

int receiver() {
  Setup s;
  ze_ipc_mem_handle_t ipc;
  receive_bytes(STDIN_FILENO, &ipc, sizeof ipc);
  void* memory = nullptr;
  CHECK(zeMemOpenIpcHandle(s.context, s.device, ipc, 0, &memory));

  std::vector<uint32_t> values(kCount);
  copy(s, values.data(), memory);
  prove(values[kCount - 1] == kCount - 1, "receiver %d: read the sender's memory", static_cast<int>(getpid()));
  for (uint32_t& value : values) value *= 2;
  copy(s, memory, values.data());

  CHECK(zeMemCloseIpcHandle(s.context, memory));
  send_bytes(STDIN_FILENO, "d", 1);
  return 0;
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) return receiver();
  Peer peer;
  Setup s;
  uint32_t* memory = s.local<uint32_t>(kCount);
  std::vector<uint32_t> values(kCount);
  for (uint32_t i = 0; i < kCount; ++i) values[i] = i;
  copy(s, memory, values.data());

  // The program chooses the transport of the 64 bytes; here it is a socket.
  ze_ipc_mem_handle_t ipc;
  CHECK(zeMemGetIpcHandle(s.context, memory, &ipc));
  send_bytes(peer.socket, &ipc, sizeof ipc);
  char done = 0;
  receive_bytes(peer.socket, &done, 1);

  copy(s, values.data(), memory);
  prove(values[kCount - 1] == 2 * (kCount - 1), "sender %d: reads the receiver's data", static_cast<int>(getpid()));
  CHECK(zeMemPutIpcHandle(s.context, ipc));
  CHECK(zeMemFree(s.context, memory));
}
