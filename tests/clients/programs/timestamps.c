// The device's clock: read by the host, written by a command, and recorded in kernel events.
// timestamps FILE, which has a kernel "triad" that computes a[i] = b[i] + s * c[i]
#include <time.h>

#include "check.h"

enum { COUNT = 1 << 20, GROUP = 256, LAUNCHES = 4 };

static uint64_t host_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  setup_t s = set_up();
  ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  CHECK(zeDeviceGetProperties(s.device, &properties));
  uint64_t tick = properties.timerResolution, valid = UINT64_MAX >> (64 - properties.timestampValidBits);
  uint64_t kernel_valid = UINT64_MAX >> (64 - properties.kernelTimestampValidBits);

  // Both clocks are read between the reads of ours around the call, however long it takes. They run differently by less than a hundredth.
  uint64_t host[2], device[2], around[4] = {host_now()};
  CHECK(zeDeviceGetGlobalTimestamps(s.device, &host[0], &device[0]));
  around[1] = host_now();
  struct timespec pause = {.tv_nsec = 20000000};
  nanosleep(&pause, NULL);
  around[2] = host_now();
  CHECK(zeDeviceGetGlobalTimestamps(s.device, &host[1], &device[1]));
  around[3] = host_now();
  uint64_t least = (around[2] - around[1]) / 100 * 99, most = (around[3] - around[0]) / 100 * 101;
  uint64_t by_host = host[1] - host[0], by_device = ((device[1] - device[0]) & valid) * tick;
  prove(by_host >= least && by_host <= most && by_device >= least && by_device <= most,
        "a pause took %lu ns for the host and %lu ns for the device", (unsigned long)by_host, (unsigned long)by_device);

  ze_module_handle_t module = load_module(s, argv[1]);
  ze_kernel_handle_t kernel = make_kernel(module, "triad");
  float *a = host_memory(s, COUNT * sizeof(float)), *b = host_memory(s, COUNT * sizeof(float)), scale = 2;
  for (int i = 0; i < COUNT; ++i) b[i] = (float)i;
  ARGUMENT(kernel, 0, a);
  ARGUMENT(kernel, 1, b);
  ARGUMENT(kernel, 2, b);
  ARGUMENT(kernel, 3, scale);
  CHECK(zeKernelSetGroupSize(kernel, GROUP, 1, 1));
  ze_group_count_t groups = {COUNT / GROUP, 1, 1};

  ze_event_pool_handle_t pool = make_pool(s, LAUNCHES, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
  ze_event_handle_t events[LAUNCHES];
  uint64_t* stamps = host_memory(s, 2 * sizeof *stamps);
  ze_kernel_timestamp_result_t* queried = host_memory(s, LAUNCHES * sizeof *queried);
  ze_command_queue_handle_t queue = make_queue(s, 0);
  ze_command_list_handle_t list = make_list(s, 0);
  CHECK(zeCommandListAppendWriteGlobalTimestamp(list, &stamps[0], NULL, 0, NULL));
  for (uint32_t i = 0; i < LAUNCHES; ++i) {
    events[i] = make_event(pool, i);
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, events[i], i > 0, i > 0 ? &events[i - 1] : NULL));
  }
  CHECK(zeCommandListAppendWriteGlobalTimestamp(list, &stamps[1], NULL, 1, &events[LAUNCHES - 1]));
  CHECK(zeCommandListAppendQueryKernelTimestamps(list, LAUNCHES, events, queried, NULL, NULL, 0, NULL));
  uint64_t before = host_now();
  run_list(queue, list);
  uint64_t after = host_now();
  uint64_t all = ((stamps[1] - stamps[0]) & valid) * tick;
  prove(all > 0 && all <= after - before, "%d launches took %lu ns on the device, %lu ns as the host saw it", LAUNCHES,
        (unsigned long)all, (unsigned long)(after - before));

  uint64_t sum = 0, last = 0;
  for (int i = 0; i < LAUNCHES; ++i) {
    ze_kernel_timestamp_result_t result;
    CHECK(zeEventQueryKernelTimestamp(events[i], &result));
    uint64_t took = ((result.global.kernelEnd - result.global.kernelStart) & kernel_valid) * tick;
    prove(took > 0 && result.global.kernelStart >= last, "launch %d took %lu ns and began when the one before had ended", i,
          (unsigned long)took);
    prove(memcmp(&result, &queried[i], sizeof result) == 0, "and a command saw the same");
    last = result.global.kernelEnd;
    sum += took;
  }
  prove(sum <= all, "together they took no longer than all of them");
  prove(a[COUNT - 1] == 3 * b[COUNT - 1], "and they did their work");

  for (int i = 0; i < LAUNCHES; ++i) CHECK(zeEventDestroy(events[i]));
  CHECK(zeEventPoolDestroy(pool));
  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  void* memory[] = {a, b, stamps, queried};
  for (int i = 0; i < 4; ++i) CHECK(zeMemFree(s.context, memory[i]));
  CHECK(zeKernelDestroy(kernel));
  CHECK(zeModuleDestroy(module));
  CHECK(zeContextDestroy(s.context));
}
