// Two processes share memory and events: the child's commands fill the parent's memory and wake the parent.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { BYTES = 1 << 16, ROUNDS = 100, GO = 3, DONE = 7, EVENTS = 8 };

// Both handles fit a file descriptor and some numbers; how they get to the other process is the application's affair.
typedef struct {
  ze_ipc_mem_handle_t memory;
  ze_ipc_event_pool_handle_t pool;
} message_t;

static void child(int channel) {
  setup_t s = set_up();
  message_t message;
  if (recv(channel, &message, sizeof message, MSG_WAITALL) != sizeof message) exit(1);
  void* memory = NULL;
  ze_event_pool_handle_t pool = NULL;
  CHECK(zeMemOpenIpcHandle(s.context, s.device, message.memory, 0, &memory));
  CHECK(zeEventPoolOpenIpcHandle(s.context, message.pool, &pool));
  ze_event_handle_t go = make_event(pool, GO), done = make_event(pool, DONE);
  ze_command_queue_handle_t queue = make_queue(s, 0);
  for (int round = 1; round <= ROUNDS; ++round) {
    unsigned char pattern = (unsigned char)round;
    ze_command_list_handle_t list = make_list(s, 0);
    CHECK(zeCommandListAppendWaitOnEvents(list, 1, &go));
    CHECK(zeCommandListAppendEventReset(list, go));
    CHECK(zeCommandListAppendMemoryFill(list, memory, &pattern, 1, BYTES, done, 0, NULL));
    run_list(queue, list);
    CHECK(zeCommandListDestroy(list));
  }
  prove(true, "child %d: filled the parent's memory %d times", (int)getpid(), ROUNDS);
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeEventDestroy(go));
  CHECK(zeEventDestroy(done));
  CHECK(zeEventPoolCloseIpcHandle(pool));
  CHECK(zeMemCloseIpcHandle(s.context, memory));
  CHECK(zeContextDestroy(s.context));
  exit(0);
}

int main(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  // Before the driver is started: a process that was forked later would have none.
  pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    child(ends[1]);
  }
  close(ends[1]);
  setup_t s = set_up();
  unsigned char* memory = device_memory(s, BYTES);
  ze_event_pool_handle_t pool = make_pool(s, EVENTS, ZE_EVENT_POOL_FLAG_IPC);
  ze_event_handle_t go = make_event(pool, GO), done = make_event(pool, DONE);
  message_t message;
  CHECK(zeMemGetIpcHandle(s.context, memory, &message.memory));
  CHECK(zeEventPoolGetIpcHandle(pool, &message.pool));
  if (send(ends[0], &message, sizeof message, 0) != sizeof message) return 1;

  ze_command_list_handle_t list = make_immediate(s, 0, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  unsigned char* seen = host_memory(s, BYTES);
  int wrong = 0;
  for (int round = 1; round <= ROUNDS; ++round) {
    CHECK(zeEventHostSignal(go));
    CHECK(zeEventHostSynchronize(done, FOREVER));
    CHECK(zeEventHostReset(done));
    CHECK(zeCommandListAppendMemoryCopy(list, seen, memory, BYTES, NULL, 0, NULL));
    for (int i = 0; i < BYTES; ++i) wrong += seen[i] != (unsigned char)round;
  }
  prove(wrong == 0, "parent %d: was woken %d times and found %d wrong bytes", (int)getpid(), ROUNDS, wrong);
  int status = 0;
  waitpid(pid, &status, 0);
  prove(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended well");

  CHECK(zeCommandListDestroy(list));
  CHECK(zeEventDestroy(go));
  CHECK(zeEventDestroy(done));
  CHECK(zeEventPoolDestroy(pool));
  CHECK(zeMemFree(s.context, seen));
  CHECK(zeMemFree(s.context, memory));
  CHECK(zeContextDestroy(s.context));
}
