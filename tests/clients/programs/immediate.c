// Immediate lists: synchronous and asynchronous, chained by events, with kernels between copies, and used again and again.
// immediate FILE, which has a kernel "triad" that computes a[i] = b[i] + s * c[i]
#include "check.h"

enum { COUNT = 4096, GROUP = 64, ROUNDS = 100 };

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  setup_t s = set_up();
  ze_module_handle_t module = load_module(s, argv[1]);
  ze_kernel_handle_t kernel = make_kernel(module, "triad");
  CHECK(zeKernelSetGroupSize(kernel, GROUP, 1, 1));
  ze_group_count_t groups = {COUNT / GROUP, 1, 1};
  size_t bytes = COUNT * sizeof(float);
  float *a = device_memory(s, bytes), *b = device_memory(s, bytes), *host = host_memory(s, bytes), one = 1;
  ARGUMENT(kernel, 0, a);
  ARGUMENT(kernel, 1, b);
  ARGUMENT(kernel, 2, b);
  ARGUMENT(kernel, 3, one);

  // Each call returns when its command is done.
  ze_command_list_handle_t list = make_immediate(s, 0, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  for (int i = 0; i < COUNT; ++i) host[i] = (float)i;
  CHECK(zeCommandListAppendMemoryCopy(list, b, host, bytes, NULL, 0, NULL));
  memset(host, 0, bytes);
  CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
  CHECK(zeCommandListAppendMemoryCopy(list, host, a, bytes, NULL, 0, NULL));
  prove(host[COUNT - 1] == 2 * (COUNT - 1), "synchronous: upload, kernel and readback were done one by one");
  CHECK(zeCommandListDestroy(list));

  // Here they return at once, and events say what waits for what: b, the kernel's a, back to the host.
  list = make_immediate(s, 0, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  ze_event_pool_handle_t pool = make_pool(s, 3, 0);
  ze_event_handle_t uploaded = make_event(pool, 0), computed = make_event(pool, 1), back = make_event(pool, 2);
  int wrong = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    float number = (float)round;
    CHECK(zeCommandListAppendMemoryFill(list, b, &number, sizeof number, bytes, uploaded, 0, NULL));
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, computed, 1, &uploaded));
    CHECK(zeCommandListAppendMemoryCopy(list, host, a, bytes, back, 1, &computed));
    CHECK(zeEventHostSynchronize(back, FOREVER));
    wrong += host[0] != 2 * number || host[COUNT - 1] != 2 * number;
    CHECK(zeCommandListAppendEventReset(list, uploaded));
    CHECK(zeCommandListAppendEventReset(list, computed));
    CHECK(zeEventHostReset(back));
  }
  prove(wrong == 0, "asynchronous: %d chains of three commands, %d wrong", ROUNDS, wrong);

  // A command behind an event of the host leaves the calls asynchronous until the host has its say.
  float late = -1;
  CHECK(zeCommandListAppendMemoryFill(list, b, &late, sizeof late, bytes, back, 1, &uploaded));
  prove(zeEventQueryStatus(back) == ZE_RESULT_NOT_READY, "a command waits for the host");
  prove(zeEventHostSynchronize(back, 1000000) == ZE_RESULT_NOT_READY,
        "and so does the host, but not for longer than a millisecond");
  CHECK(zeEventHostSignal(uploaded));
  CHECK(zeEventHostSynchronize(back, FOREVER));
  prove(true, "until the host signals");

  CHECK(zeCommandListDestroy(list));
  ze_event_handle_t events[] = {uploaded, computed, back};
  for (int i = 0; i < 3; ++i) CHECK(zeEventDestroy(events[i]));
  CHECK(zeEventPoolDestroy(pool));
  void* memory[] = {a, b, host};
  for (int i = 0; i < 3; ++i) CHECK(zeMemFree(s.context, memory[i]));
  CHECK(zeKernelDestroy(kernel));
  CHECK(zeModuleDestroy(module));
  CHECK(zeContextDestroy(s.context));
}
