// Every available driver works beside the others: memory, a fill, a copy, and a kernel.
// two_drivers FILE, which has a kernel "triad" that computes a[i] = b[i] + s * c[i]
#include "check.h"

enum { COUNT = 256, DRIVERS = 4 };

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  ze_driver_handle_t drivers[DRIVERS];
  uint32_t count = DRIVERS;
  CHECK(zeInit(0));
  CHECK(zeDriverGet(&count, drivers));
  prove(count >= 2, "%u drivers", count);
  setup_t setups[DRIVERS];
  float* results[DRIVERS];
  ze_command_list_handle_t lists[DRIVERS];
  ze_command_queue_handle_t queues[DRIVERS];
  for (uint32_t i = 0; i < count; ++i) {
    setup_t s = {.driver = drivers[i]};
    uint32_t one = 1;
    CHECK(zeDeviceGet(s.driver, &one, &s.device));
    ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    CHECK(zeContextCreate(s.driver, &desc, &s.context));
    ze_kernel_handle_t kernel = make_kernel(load_module(s, argv[1]), "triad");
    CHECK(zeKernelSetGroupSize(kernel, COUNT, 1, 1));
    float *values = device_memory(s, COUNT * sizeof(float)), scale = 9, start = (float)(i + 1);
    results[i] = host_memory(s, COUNT * sizeof(float));
    for (uint32_t argument = 0; argument < 3; ++argument) ARGUMENT(kernel, argument, values);
    ARGUMENT(kernel, 3, scale);
    queues[i] = make_queue(s, 0);
    lists[i] = make_list(s, 0);
    ze_group_count_t group = {1, 1, 1};
    CHECK(zeCommandListAppendMemoryFill(lists[i], values, &start, sizeof start, COUNT * sizeof(float), NULL, 0, NULL));
    CHECK(zeCommandListAppendBarrier(lists[i], NULL, 0, NULL));
    CHECK(zeCommandListAppendLaunchKernel(lists[i], kernel, &group, NULL, 0, NULL));
    CHECK(zeCommandListAppendBarrier(lists[i], NULL, 0, NULL));
    CHECK(zeCommandListAppendMemoryCopy(lists[i], results[i], values, COUNT * sizeof(float), NULL, 0, NULL));
    CHECK(zeCommandListClose(lists[i]));
    setups[i] = s;
  }
  for (uint32_t i = 0; i < count; ++i) CHECK(zeCommandQueueExecuteCommandLists(queues[i], 1, &lists[i], NULL));
  for (uint32_t i = 0; i < count; ++i) {
    CHECK(zeCommandQueueSynchronize(queues[i], FOREVER));
    ze_memory_allocation_properties_t own = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    CHECK(zeMemGetAllocProperties(setups[i].context, results[i], &own, NULL));
    prove(own.type == ZE_MEMORY_TYPE_HOST && results[i][COUNT - 1] == 10 * (float)(i + 1), "driver %u computed %g", i,
          results[i][COUNT - 1]);
  }
}
