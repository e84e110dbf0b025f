// Launches of an empty kernel through Level Zero. level_zero FILE.spv
#include "turns.h"
#include "ze_api.h"

#define OK(call)                                                    \
  do {                                                              \
    ze_result_t result_ = (call);                                   \
    if (result_ != ZE_RESULT_SUCCESS) give_up(#call, (int)result_); \
  } while (0)

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;
static ze_kernel_handle_t kernel;
static ze_command_list_handle_t list, immediate;
static ze_command_queue_handle_t queue;
static const ze_group_count_t one = {1, 1, 1};

static void set_up(const char* path) {
  uint32_t count = 1;
  OK(zeInit(0));
  OK(zeDriverGet(&count, &driver));
  count = 1;
  OK(zeDeviceGet(driver, &count, &device));
  ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  OK(zeContextCreate(driver, &context_desc, &context));
  size_t size = 0;
  char* code = contents(path, &size);
  ze_module_desc_t module_desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                  .format = ZE_MODULE_FORMAT_IL_SPIRV,
                                  .inputSize = size,
                                  .pInputModule = (const uint8_t*)code};
  ze_module_handle_t module;
  OK(zeModuleCreate(context, device, &module_desc, &module, NULL));
  free(code);
  ze_kernel_desc_t kernel_desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "empty"};
  OK(zeKernelCreate(module, &kernel_desc, &kernel));
  OK(zeKernelSetGroupSize(kernel, 1, 1, 1));
  ze_command_list_desc_t list_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
  OK(zeCommandListCreate(context, device, &list_desc, &list));
  // An OpenCL queue is in order unless it is asked not to be; so is everything here.
  ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                        .flags = ZE_COMMAND_QUEUE_FLAG_IN_ORDER,
                                        .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
  OK(zeCommandListCreateImmediate(context, device, &queue_desc, &immediate));
  queue_desc.flags = 0;
  OK(zeCommandQueueCreate(context, device, &queue_desc, &queue));
}

static inline void launch_on(ze_command_list_handle_t to) { OK(zeCommandListAppendLaunchKernel(to, kernel, &one, NULL, 0, NULL)); }

static inline void wait_for_immediate(void) { OK(zeCommandListHostSynchronize(immediate, UINT64_MAX)); }

static uint64_t record(uint32_t calls) {
  uint64_t begin = now_ns();
  for (uint32_t done = 0; done < calls; done += BATCH) {
    for (int i = 0; i < BATCH; ++i) launch_on(list);
    OK(zeCommandListClose(list));
    OK(zeCommandListReset(list));
  }
  return now_ns() - begin;
}

static uint64_t record_execute(uint32_t calls) {
  uint64_t begin = now_ns();
  for (uint32_t done = 0; done < calls; done += BATCH) {
    for (int i = 0; i < BATCH; ++i) launch_on(list);
    OK(zeCommandListClose(list));
    OK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    OK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    OK(zeCommandListReset(list));
  }
  return now_ns() - begin;
}

static uint64_t launch(uint32_t calls) {
  uint64_t sum = 0;
  for (uint32_t done = 0; done < calls; done += BATCH) {
    uint64_t begin = now_ns();
    for (int i = 0; i < BATCH; ++i) launch_on(immediate);
    sum += now_ns() - begin;
    wait_for_immediate();
  }
  return sum;
}

static uint64_t launch_queued(uint32_t calls) {
  uint64_t begin = now_ns();
  for (uint32_t done = 0; done < calls; done += BATCH) {
    for (int i = 0; i < BATCH; ++i) launch_on(immediate);
    wait_for_immediate();
  }
  return now_ns() - begin;
}

static uint64_t launch_wait(uint32_t calls) {
  uint64_t begin = now_ns();
  for (uint32_t i = 0; i < calls; ++i) {
    launch_on(immediate);
    wait_for_immediate();
  }
  return now_ns() - begin;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  set_up(argv[1]);
  ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  OK(zeDeviceGetProperties(device, &properties));
  static const turn_t turns[] = {
      {"record", record},           {"record_execute", record_execute}, {"launch", launch}, {"launch_queued", launch_queued},
      {"launch_wait", launch_wait},
  };
  return take_turns(properties.name, turns, sizeof turns / sizeof *turns);
}
