// A program that touches results before it has waited for them, once in each function, and right ones. Linked with -rdynamic.
// The arguments are the modules of saxpy.cl and atomics.cl.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ze_api.h"

#define OK(call)                                                                           \
  do {                                                                                     \
    const ze_result_t answer = (call);                                                     \
    if (answer != ZE_RESULT_SUCCESS) fprintf(stderr, "%s: %#x\n", #call, answer), abort(); \
  } while (0)
#define MUST(condition)                                                           \
  do {                                                                            \
    if (!(condition)) fprintf(stderr, "%s: %s\n", __func__, #condition), abort(); \
  } while (0)
#define CASE __attribute__((noinline)) void

enum { ITEMS = 1 << 18, BYTES = 4 * ITEMS, SMALL = 64 };

static ze_device_handle_t device;
static ze_context_handle_t context;
static ze_command_queue_handle_t queue;
static ze_command_list_handle_t list;
static ze_event_handle_t gate, done;
static ze_fence_handle_t fence;
static ze_kernel_handle_t saxpy, unchecked, atomics;
static unsigned char *source, *result, *small;
static volatile unsigned sink;

static void wait_for_all(void) { OK(zeCommandListHostSynchronize(list, UINT64_MAX)); }

static void fill(int value) { OK(zeCommandListAppendMemoryFill(list, result, &value, 1, BYTES, NULL, 0, NULL)); }

static void launch(ze_kernel_handle_t kernel, uint32_t items) {
  const float a = 2;
  const uint64_t n = items;
  OK(zeKernelSetArgumentValue(kernel, 0, sizeof result, &result));
  OK(zeKernelSetArgumentValue(kernel, 1, sizeof source, &source));
  OK(zeKernelSetArgumentValue(kernel, 2, sizeof a, &a));
  if (kernel == saxpy) OK(zeKernelSetArgumentValue(kernel, 3, sizeof n, &n));
  OK(zeKernelSetGroupSize(kernel, 64, 1, 1));
  const ze_group_count_t groups = {ITEMS / 64, 1, 1};
  OK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
}

// Wrong

CASE reads_a_fill(void) {
  fill(1);
  sink += result[100];
  wait_for_all();
}

CASE reads_a_copy(void) {
  OK(zeCommandListAppendMemoryCopy(list, result, source, BYTES, NULL, 0, NULL));
  unsigned char own[4096];
  volatile size_t size = sizeof own;  // for a call of the library's function
  memcpy(own, result + 8192, size);
  sink += own[17];
  wait_for_all();
}

CASE reads_what_a_kernel_writes(void) {
  launch(unchecked, ITEMS);
  sink += result[BYTES - 4];
  wait_for_all();
}

CASE reads_what_a_guarded_kernel_writes(void) {
  launch(saxpy, ITEMS);
  sink += result[0];
  wait_for_all();
}

CASE writes_into_a_result(void) {
  fill(2);
  result[5] = 77;
  wait_for_all();
}

CASE reads_a_small_result_that_waits(void) {
  const int seven = 7;
  OK(zeCommandListAppendMemoryFill(list, small, &seven, 1, SMALL, NULL, 1, &gate));
  sink += small[SMALL - 1];
  OK(zeEventHostSignal(gate));
  wait_for_all();
  OK(zeEventHostReset(gate));
}

CASE reads_the_first_of_two_results(void) {
  fill(3);
  const int eight = 8;
  OK(zeCommandListAppendMemoryFill(list, small, &eight, 1, SMALL, NULL, 0, NULL));
  sink += result[BYTES / 2];
  wait_for_all();
}

static ze_command_list_handle_t recorded_fill(int value) {
  ze_command_list_handle_t recorded;
  ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
  OK(zeCommandListCreate(context, device, &desc, &recorded));
  OK(zeCommandListAppendMemoryFill(recorded, result, &value, 1, BYTES, NULL, 0, NULL));
  OK(zeCommandListClose(recorded));
  return recorded;
}

CASE reads_what_a_list_writes(void) {
  ze_command_list_handle_t recorded = recorded_fill(4);
  OK(zeCommandQueueExecuteCommandLists(queue, 1, &recorded, NULL));
  sink += result[1];
  OK(zeCommandQueueSynchronize(queue, UINT64_MAX));
  OK(zeCommandListDestroy(recorded));
}

// Right

static void expect(int value) { MUST(result[0] == value && result[BYTES - 1] == value); }

CASE waits_for_the_list(void) {
  fill(10);
  wait_for_all();
  expect(10);
}

CASE waits_for_an_event(void) {
  const int value = 11;
  OK(zeCommandListAppendMemoryFill(list, result, &value, 1, BYTES, done, 0, NULL));
  OK(zeEventHostSynchronize(done, UINT64_MAX));
  expect(11);
  OK(zeEventHostReset(done));
}

CASE asks_an_event(void) {
  const int value = 12;
  OK(zeCommandListAppendMemoryFill(list, result, &value, 1, BYTES, done, 0, NULL));
  while (zeEventQueryStatus(done) == ZE_RESULT_NOT_READY) continue;
  expect(12);
  OK(zeEventHostReset(done));
}

CASE waits_for_a_queue(void) {
  ze_command_list_handle_t recorded = recorded_fill(13);
  OK(zeCommandQueueExecuteCommandLists(queue, 1, &recorded, NULL));
  OK(zeCommandQueueSynchronize(queue, UINT64_MAX));
  expect(13);
  OK(zeCommandListDestroy(recorded));
}

CASE waits_for_a_fence(void) {
  ze_command_list_handle_t recorded = recorded_fill(14);
  OK(zeCommandQueueExecuteCommandLists(queue, 1, &recorded, fence));
  OK(zeFenceHostSynchronize(fence, UINT64_MAX));
  expect(14);
  OK(zeFenceReset(fence));
  OK(zeCommandListDestroy(recorded));
}

CASE waits_for_the_device(void) {
  fill(15);
  OK(zeDeviceSynchronize(device));
  expect(15);
}

// The launch writes one half, the program meanwhile the other one, also by a call of the system.
CASE uses_the_other_half(void) {
  memset(result, 0, BYTES);
  launch(saxpy, ITEMS / 2 + 100);
  unsigned char* other = result + BYTES / 2 + 400;
  memset(other, 5, 4096);
  int ends[2];
  MUST(pipe(ends) == 0 && write(ends[1], other, 64) == 64 && read(ends[0], other + 64, 64) == 64);
  close(ends[0]);
  close(ends[1]);
  wait_for_all();
  MUST(other[64] == 5);
}

// The same values are written again.
CASE reads_what_does_not_change(void) {
  fill(16);
  wait_for_all();
  fill(16);
  sink += result[9];
  wait_for_all();
}

// The kernel's accesses are atomic: the program may poll.
CASE polls_a_counter(void) {
  uint32_t* cells = (uint32_t*)(void*)small;
  memset(small, 0, SMALL);
  OK(zeKernelSetArgumentValue(atomics, 0, sizeof small, &small));
  OK(zeKernelSetArgumentValue(atomics, 1, sizeof source, &source));
  OK(zeKernelSetGroupSize(atomics, 64, 1, 1));
  const ze_group_count_t groups = {ITEMS / 64, 1, 1};
  OK(zeCommandListAppendLaunchKernel(list, atomics, &groups, NULL, 0, NULL));
  while (__atomic_load_n(&cells[7], __ATOMIC_ACQUIRE) != ITEMS) continue;
  wait_for_all();
}

static void told(void* argument) { __atomic_store_n((int*)argument, 1, __ATOMIC_RELEASE); }

// A host function tells another thread, which has waited for no call.
CASE waits_for_a_host_function(void) {
  int ready = 0;
  fill(17);
  OK(zeCommandListAppendHostFunction(list, told, &ready, NULL, NULL, 0, NULL));
  while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) continue;
  expect(17);
  wait_for_all();
}

CASE forks(void) {
  memset(result, 18, BYTES);
  fill(18);
  const pid_t child = fork();
  if (!child) _exit(result[0] == 18 && result[BYTES - 1] == 18 ? 0 : 1);
  int status = 1;
  MUST(waitpid(child, &status, 0) == child && status == 0);
  wait_for_all();
  expect(18);
}

static void* read_later(void* unused) {
  OK(zeCommandListHostSynchronize(list, UINT64_MAX));
  expect(19);
  return unused;
}

CASE waits_in_another_thread(void) {
  fill(19);
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, read_later, NULL) == 0);
  MUST(pthread_join(thread, NULL) == 0);
}

static void* shared(size_t size) {
  void* made;
  ze_device_mem_alloc_desc_t device_desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  ze_host_mem_alloc_desc_t host_desc = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  OK(zeMemAllocShared(context, &device_desc, &host_desc, size, 0, device, &made));
  memset(made, 0, size);
  return made;
}

static ze_module_handle_t module_of(const char* path) {
  static unsigned char code[1 << 16];
  FILE* file = fopen(path, "rb");
  MUST(file);
  ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_IL_SPIRV, .pInputModule = code};
  desc.inputSize = fread(code, 1, sizeof code, file);
  fclose(file);
  ze_module_handle_t made;
  OK(zeModuleCreate(context, device, &desc, &made, NULL));
  return made;
}

static ze_kernel_handle_t kernel_of(ze_module_handle_t module, const char* name) {
  ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
  ze_kernel_handle_t made;
  OK(zeKernelCreate(module, &desc, &made));
  return made;
}

int main(int count, char** paths) {
  MUST(count == 3);
  ze_driver_handle_t driver;
  uint32_t one = 1;
  OK(zeInit(0));
  OK(zeDriverGet(&one, &driver));
  OK(zeDeviceGet(driver, &one, &device));
  ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  OK(zeContextCreate(driver, &context_desc, &context));
  source = shared(BYTES);
  for (uint32_t i = 0; i < ITEMS; ++i) ((float*)(void*)source)[i] = 1.25f + (float)i;
  result = shared(BYTES);
  small = shared(SMALL);
  ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
  queue_desc.flags = ZE_COMMAND_QUEUE_FLAG_IN_ORDER;
  OK(zeCommandListCreateImmediate(context, device, &queue_desc, &list));
  queue_desc.flags = 0;
  OK(zeCommandQueueCreate(context, device, &queue_desc, &queue));
  ze_fence_desc_t fence_desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
  OK(zeFenceCreate(queue, &fence_desc, &fence));
  ze_event_pool_desc_t pool_desc = {
      .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = 2};
  ze_event_pool_handle_t pool;
  OK(zeEventPoolCreate(context, &pool_desc, 0, NULL, &pool));
  ze_event_desc_t event_desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .signal = ZE_EVENT_SCOPE_FLAG_HOST};
  OK(zeEventCreate(pool, &event_desc, &gate));
  event_desc.index = 1;
  OK(zeEventCreate(pool, &event_desc, &done));
  ze_module_handle_t arithmetic = module_of(paths[1]), counters = module_of(paths[2]);
  saxpy = kernel_of(arithmetic, "saxpy");
  unchecked = kernel_of(arithmetic, "saxpy_unchecked");
  atomics = kernel_of(counters, "global_int");

  reads_a_fill();
  reads_a_copy();
  reads_what_a_kernel_writes();
  reads_what_a_guarded_kernel_writes();
  writes_into_a_result();
  reads_a_small_result_that_waits();
  reads_the_first_of_two_results();
  reads_what_a_list_writes();

  waits_for_the_list();
  waits_for_an_event();
  asks_an_event();
  waits_for_a_queue();
  waits_for_a_fence();
  waits_for_the_device();
  uses_the_other_half();
  reads_what_does_not_change();
  polls_a_counter();
  waits_for_a_host_function();
  forks();
  waits_in_another_thread();

  OK(zeKernelDestroy(saxpy));
  OK(zeKernelDestroy(unchecked));
  OK(zeKernelDestroy(atomics));
  OK(zeModuleDestroy(arithmetic));
  OK(zeModuleDestroy(counters));
  OK(zeEventDestroy(gate));
  OK(zeEventDestroy(done));
  OK(zeEventPoolDestroy(pool));
  OK(zeFenceDestroy(fence));
  OK(zeCommandQueueDestroy(queue));
  OK(zeCommandListDestroy(list));
  OK(zeMemFree(context, source));
  OK(zeMemFree(context, result));
  OK(zeMemFree(context, small));
  OK(zeContextDestroy(context));
  return 0;
}
