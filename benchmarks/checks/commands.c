// Calls whose cost check mode adds to: copies and launches, recorded and immediate. commands FILE.spv
#include "../launches/turns.h"
#include "ze_api.h"

#define OK(call)                                                    \
  do {                                                              \
    ze_result_t result_ = (call);                                   \
    if (result_ != ZE_RESULT_SUCCESS) give_up(#call, (int)result_); \
  } while (0)

// Buffers have room behind the elements: near the end of a buffer, a checked kernel looks at each work-item, and that would be
// measured instead of the calls.
enum { BYTES = 64, ELEMENTS = 16, BUFFERS = 8, ROOM = 1024 };

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;
static ze_kernel_handle_t kernel;
static ze_command_list_handle_t list, immediate;
static ze_command_queue_handle_t queue;
static ze_event_handle_t event;
static void* buffers[BUFFERS];
static const ze_group_count_t one = {1, 1, 1};

static void set_up_kernel(const char* path) {
  size_t size = 0;
  char* code = contents(path, &size);
  ze_module_desc_t module_desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                  .format = ZE_MODULE_FORMAT_IL_SPIRV,
                                  .inputSize = size,
                                  .pInputModule = (const uint8_t*)code};
  ze_module_handle_t module;
  OK(zeModuleCreate(context, device, &module_desc, &module, NULL));
  free(code);
  ze_kernel_desc_t kernel_desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "saxpy"};
  OK(zeKernelCreate(module, &kernel_desc, &kernel));
  OK(zeKernelSetGroupSize(kernel, ELEMENTS, 1, 1));
  const float factor = 2;
  const uint64_t elements = ELEMENTS;
  OK(zeKernelSetArgumentValue(kernel, 0, sizeof(void*), &buffers[0]));
  OK(zeKernelSetArgumentValue(kernel, 1, sizeof(void*), &buffers[1]));
  OK(zeKernelSetArgumentValue(kernel, 2, sizeof factor, &factor));
  OK(zeKernelSetArgumentValue(kernel, 3, sizeof elements, &elements));
}

static void set_up(const char* path) {
  uint32_t count = 1;
  OK(zeInit(0));
  OK(zeDriverGet(&count, &driver));
  count = 1;
  OK(zeDeviceGet(driver, &count, &device));
  ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  OK(zeContextCreate(driver, &context_desc, &context));
  ze_device_mem_alloc_desc_t memory_desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  for (int i = 0; i < BUFFERS; ++i) OK(zeMemAllocDevice(context, &memory_desc, ROOM, 0, device, &buffers[i]));
  set_up_kernel(path);
  ze_command_list_desc_t list_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, .flags = ZE_COMMAND_LIST_FLAG_IN_ORDER};
  OK(zeCommandListCreate(context, device, &list_desc, &list));
  ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                        .flags = ZE_COMMAND_QUEUE_FLAG_IN_ORDER,
                                        .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
  OK(zeCommandListCreateImmediate(context, device, &queue_desc, &immediate));
  queue_desc.flags = 0;
  OK(zeCommandQueueCreate(context, device, &queue_desc, &queue));
  ze_event_pool_desc_t pool_desc = {
      .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = 1};
  ze_event_pool_handle_t pool;
  OK(zeEventPoolCreate(context, &pool_desc, 0, NULL, &pool));
  ze_event_desc_t event_desc = {
      .stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .signal = ZE_EVENT_SCOPE_FLAG_HOST, .wait = ZE_EVENT_SCOPE_FLAG_HOST};
  OK(zeEventCreate(pool, &event_desc, &event));
  // So that no kernel reads memory that nothing has written.
  const char zero = 0;
  for (int i = 0; i < BUFFERS; ++i) OK(zeCommandListAppendMemoryFill(immediate, buffers[i], &zero, 1, ROOM, NULL, 0, NULL));
  OK(zeCommandListHostSynchronize(immediate, UINT64_MAX));
}

static inline void copy_on(ze_command_list_handle_t to, uint32_t i) {
  OK(zeCommandListAppendMemoryCopy(to, buffers[i % BUFFERS], buffers[(i + 1) % BUFFERS], BYTES, NULL, 0, NULL));
}

static inline void launch_on(ze_command_list_handle_t to) { OK(zeCommandListAppendLaunchKernel(to, kernel, &one, NULL, 0, NULL)); }

static inline void wait_for_immediate(void) { OK(zeCommandListHostSynchronize(immediate, UINT64_MAX)); }

static uint64_t record_copy(uint32_t calls) {
  uint64_t begin = now_ns();
  for (uint32_t done = 0; done < calls; done += BATCH) {
    for (uint32_t i = 0; i < BATCH; ++i) copy_on(list, i);
    OK(zeCommandListClose(list));
    OK(zeCommandListReset(list));
  }
  return now_ns() - begin;
}

static uint64_t record_launch(uint32_t calls) {
  uint64_t begin = now_ns();
  for (uint32_t done = 0; done < calls; done += BATCH) {
    for (int i = 0; i < BATCH; ++i) launch_on(list);
    OK(zeCommandListClose(list));
    OK(zeCommandListReset(list));
  }
  return now_ns() - begin;
}

static uint64_t execute_copy(uint32_t calls) {
  uint64_t begin = now_ns();
  for (uint32_t done = 0; done < calls; done += BATCH) {
    for (uint32_t i = 0; i < BATCH; ++i) copy_on(list, i);
    OK(zeCommandListClose(list));
    OK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    OK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    OK(zeCommandListReset(list));
  }
  return now_ns() - begin;
}

// As in programs that wait for the results of a few commands at a time.
static uint64_t short_lists(uint32_t calls) {
  enum { SHORT = 10 };
  uint64_t begin = now_ns();
  for (uint32_t done = 0; done < calls; done += SHORT) {
    for (uint32_t i = 0; i < SHORT / 2; ++i) {
      copy_on(list, i);
      launch_on(list);
    }
    OK(zeCommandListClose(list));
    OK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    OK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    OK(zeCommandListReset(list));
  }
  return now_ns() - begin;
}

static uint64_t queued_copy(uint32_t calls) {
  uint64_t begin = now_ns();
  for (uint32_t done = 0; done < calls; done += BATCH) {
    for (uint32_t i = 0; i < BATCH; ++i) copy_on(immediate, i);
    wait_for_immediate();
  }
  return now_ns() - begin;
}

static uint64_t queued_launch(uint32_t calls) {
  uint64_t begin = now_ns();
  for (uint32_t done = 0; done < calls; done += BATCH) {
    for (int i = 0; i < BATCH; ++i) launch_on(immediate);
    wait_for_immediate();
  }
  return now_ns() - begin;
}

static uint64_t copy_wait(uint32_t calls) {
  uint64_t begin = now_ns();
  for (uint32_t i = 0; i < calls; ++i) {
    copy_on(immediate, i);
    wait_for_immediate();
  }
  return now_ns() - begin;
}

static uint64_t event_round_trip(uint32_t calls) {
  uint64_t begin = now_ns();
  for (uint32_t i = 0; i < calls; ++i) {
    OK(zeCommandListAppendBarrier(immediate, event, 0, NULL));
    OK(zeEventHostSynchronize(event, UINT64_MAX));
    OK(zeEventHostReset(event));
  }
  return now_ns() - begin;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  set_up(argv[1]);
  static const turn_t turns[] = {
      {"record_copy", record_copy},           {"record_launch", record_launch}, {"execute_copy", execute_copy},
      {"queued_copy", queued_copy},           {"queued_launch", queued_launch}, {"copy_wait", copy_wait},
      {"event_round_trip", event_round_trip}, {"short_lists", short_lists},
  };
  return take_turns("commands", turns, sizeof turns / sizeof *turns);
}
