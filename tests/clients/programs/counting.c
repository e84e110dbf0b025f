// Functions newer than 1.4: zeInitDrivers, in-order immediate lists that the host waits for, and counting events without a pool's
// resets. counting FILE, which has a kernel "triad" that computes a[i] = b[i] + s * c[i]
#include "check.h"

enum { COUNT = 1024, GROUP = 64, ROUNDS = 50 };

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  ze_init_driver_type_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_INIT_DRIVER_TYPE_DESC, .flags = ZE_INIT_DRIVER_TYPE_FLAG_GPU};
  uint32_t count = 0;
  CHECK(zeInitDrivers(&count, NULL, &wanted));
  prove(count >= 1, "zeInitDrivers found %u drivers for GPUs", count);
  setup_t s = {0};
  count = 1;
  CHECK(zeInitDrivers(&count, &s.driver, &wanted));
  count = 1;
  CHECK(zeDeviceGet(s.driver, &count, &s.device));
  ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  CHECK(zeContextCreate(s.driver, &context_desc, &s.context));
  ze_module_handle_t module = load_module(s, argv[1]);
  ze_kernel_handle_t kernel = make_kernel(module, "triad");
  CHECK(zeKernelSetGroupSize(kernel, GROUP, 1, 1));
  ze_group_count_t groups = {COUNT / GROUP, 1, 1};
  float *a = host_memory(s, COUNT * sizeof(float)), *b = host_memory(s, COUNT * sizeof(float)), one = 1;
  ARGUMENT(kernel, 0, a);
  ARGUMENT(kernel, 1, b);
  ARGUMENT(kernel, 2, a);
  ARGUMENT(kernel, 3, one);
  memset(a, 0, COUNT * sizeof(float));
  for (int i = 0; i < COUNT; ++i) b[i] = 1;

  ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                  .flags = ZE_COMMAND_QUEUE_FLAG_IN_ORDER,
                                  .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
  ze_command_list_handle_t list = NULL;
  CHECK(zeCommandListCreateImmediate(s.context, s.device, &desc, &list));
  for (int i = 0; i < ROUNDS; ++i) CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
  CHECK(zeCommandListHostSynchronize(list, FOREVER));
  prove(a[0] == ROUNDS && a[COUNT - 1] == ROUNDS, "%d launches in order added up to %g", ROUNDS, a[0]);

  ze_event_pool_counter_based_exp_desc_t counting = {.stype = ZE_STRUCTURE_TYPE_COUNTER_BASED_EVENT_POOL_EXP_DESC,
                                                     .flags = ZE_EVENT_POOL_COUNTER_BASED_EXP_FLAG_IMMEDIATE};
  ze_event_pool_desc_t pool_desc = {
      .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .pNext = &counting, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = 1};
  ze_event_pool_handle_t pool = NULL;
  CHECK(zeEventPoolCreate(s.context, &pool_desc, 0, NULL, &pool));
  ze_event_handle_t event = make_event(pool, 0);
  for (int i = 1; i <= ROUNDS; ++i) {
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, event, 0, NULL));
    CHECK(zeEventHostSynchronize(event, FOREVER));
    if (a[0] != (float)(ROUNDS + i)) prove(false, "launch %d was awaited", i);
  }
  prove(true, "one counting event was signalled and awaited %d times without a reset", ROUNDS);

  CHECK(zeEventDestroy(event));
  CHECK(zeEventPoolDestroy(pool));
  CHECK(zeCommandListDestroy(list));
  CHECK(zeMemFree(s.context, a));
  CHECK(zeMemFree(s.context, b));
  CHECK(zeKernelDestroy(kernel));
  CHECK(zeModuleDestroy(module));
  CHECK(zeContextDestroy(s.context));
}
