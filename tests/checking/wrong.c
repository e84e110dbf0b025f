// A program with one mistake in each function; reports name the function. Linked with -rdynamic.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ze_api.h"

#define OK(call)                                                           \
  do {                                                                     \
    if ((call) != ZE_RESULT_SUCCESS) return fprintf(stderr, #call "\n"), 1; \
  } while (0)
#define WRONG __attribute__((noinline)) void

enum { SIZE = 64 };

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context, other_context;
static ze_command_list_handle_t synchronous, asynchronous, recorded;
static ze_command_queue_handle_t queue;
static ze_event_pool_handle_t pool;
static ze_event_handle_t gate, event, unscoped;
static ze_fence_handle_t fence;
static unsigned char *host, *memory, *foreign;

WRONG copies_too_much(void) { zeCommandListAppendMemoryCopy(synchronous, memory, host, SIZE + 1, NULL, 0, NULL); }

WRONG fills_from_the_middle(void) {
  const char zero = 0;
  zeCommandListAppendMemoryFill(synchronous, memory + 8, &zero, 1, SIZE, NULL, 0, NULL);
}

WRONG copies_freed_memory(void) {
  void* gone = NULL;
  ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  zeMemAllocDevice(context, &desc, SIZE, 0, device, &gone);
  zeMemFree(context, gone);
  zeCommandListAppendMemoryCopy(synchronous, memory, gone, SIZE, NULL, 0, NULL);
}

WRONG frees_twice(void) {
  void* gone = NULL;
  ze_host_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  zeMemAllocHost(context, &desc, SIZE, 0, &gone);
  zeMemFree(context, gone);
  zeMemFree(context, gone);
}

WRONG frees_what_a_command_uses(void) {
  void* used = NULL;
  ze_host_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  zeMemAllocHost(context, &desc, SIZE, 0, &used);
  zeCommandListAppendMemoryCopy(asynchronous, memory, used, 0, NULL, 1, &gate);
  zeCommandListAppendMemoryCopy(asynchronous, memory, used, SIZE, NULL, 0, NULL);
  zeMemFree(context, used);
}

WRONG resets_what_a_command_awaits(void) { zeEventHostReset(gate); }

WRONG waits_for_nothing(void) { zeEventHostSynchronize(event, UINT64_MAX); }

WRONG destroys_a_list_in_flight(void) {
  ze_command_list_handle_t list;
  ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
  zeCommandListCreate(context, device, &desc, &list);
  zeCommandListAppendBarrier(list, NULL, 1, &gate);
  zeCommandListClose(list);
  zeCommandQueueExecuteCommandLists(queue, 1, &list, fence);
  zeCommandListDestroy(list);
}

WRONG resets_a_fence_too_early(void) { zeFenceReset(fence); }

WRONG appends_to_a_closed_list(void) {
  zeCommandListClose(recorded);
  zeCommandListAppendBarrier(recorded, NULL, 0, NULL);
}

WRONG copies_memory_of_another_context(void) {
  zeCommandListAppendMemoryCopy(synchronous, memory, foreign, SIZE, NULL, 0, NULL);
}

WRONG forgets_the_type_of_a_descriptor(void) {
  ze_event_desc_t desc;
  memset(&desc, 0, sizeof desc);
  desc.index = 3;
  ze_event_handle_t made;
  if (zeEventCreate(pool, &desc, &made) == ZE_RESULT_SUCCESS) zeEventDestroy(made);
}

WRONG awaits_a_result_without_host_scope(void) {
  zeCommandListAppendMemoryCopy(synchronous, host, memory, SIZE, unscoped, 0, NULL);
  zeEventHostSynchronize(unscoped, UINT64_MAX);
}

WRONG writes_a_misaligned_timestamp(void) {
  zeCommandListAppendWriteGlobalTimestamp(synchronous, (uint64_t*)(void*)(memory + 4), NULL, 0, NULL);
}

WRONG destroys_a_context_with_memory(void) { zeContextDestroy(other_context); }

// Calls that return an error, which the program does not look at

WRONG destroys_an_event_twice(void) {
  ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = 3};
  ze_event_handle_t made;
  zeEventCreate(pool, &desc, &made);
  zeEventDestroy(made);
  zeEventDestroy(made);
}

WRONG frees_from_the_middle(void) { zeMemFree(context, memory + 8); }

WRONG executes_an_open_list(void) {
  ze_command_list_handle_t list;
  ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
  zeCommandListCreate(context, device, &desc, &list);
  zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL);
  zeCommandListDestroy(list);
}

WRONG makes_a_queue_of_no_group(void) {
  ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .ordinal = 99};
  ze_command_queue_handle_t made;
  zeCommandQueueCreate(context, device, &desc, &made);
}

// Memory of other commands

WRONG copies_too_much_with_parameters(void) {
  zeCommandListAppendMemoryCopyWithParameters(synchronous, memory, host, SIZE + 1, NULL, NULL, 0, NULL);
}

WRONG advises_about_too_much(void) {
  zeCommandListAppendMemAdvise(synchronous, device, memory, SIZE + 1, ZE_MEMORY_ADVICE_SET_READ_MOSTLY);
}

WRONG copies_an_image_to_too_little(void) {
  ze_image_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_IMAGE_DESC, .type = ZE_IMAGE_TYPE_2D, .width = 4, .height = 8, .depth = 1};
  desc.format.layout = ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8;
  ze_image_handle_t image;
  zeImageCreate(context, device, &desc, &image);
  zeCommandListAppendImageCopyToMemory(synchronous, memory, image, NULL, NULL, 0, NULL);
  zeImageDestroy(image);
}

WRONG copies_rows_from_too_little(void) {
  ze_image_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_IMAGE_DESC, .type = ZE_IMAGE_TYPE_2D, .width = 4, .height = 2, .depth = 1};
  desc.format.layout = ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8;
  ze_image_handle_t image;
  zeImageCreate(context, device, &desc, &image);
  zeCommandListAppendImageCopyFromMemoryExt(synchronous, image, memory, NULL, 64, 0, NULL, 0, NULL);
  zeImageDestroy(image);
}

WRONG asks_times_into_too_little(void) {
  ze_event_pool_desc_t timed = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, .count = 1};
  ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
  ze_event_pool_handle_t made;
  ze_event_handle_t each;
  zeEventPoolCreate(context, &timed, 0, NULL, &made);
  zeEventCreate(made, &desc, &each);
  const ze_event_handle_t three[] = {each, each, each};
  zeCommandListAppendQueryKernelTimestamps(synchronous, 3, (ze_event_handle_t*)three, memory, NULL, NULL, 0, NULL);
  zeEventDestroy(each);
  zeEventPoolDestroy(made);
}

WRONG executes_a_copy_to_freed_memory(void) {
  void* gone = NULL;
  ze_host_mem_alloc_desc_t memory_desc = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  zeMemAllocHost(context, &memory_desc, SIZE, 0, &gone);
  ze_command_list_handle_t list;
  ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
  zeCommandListCreate(context, device, &desc, &list);
  zeCommandListAppendMemoryCopy(list, gone, memory, SIZE, NULL, 0, NULL);
  zeCommandListClose(list);
  zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL);
  zeCommandQueueSynchronize(queue, UINT64_MAX);
  zeMemFree(context, gone);
  zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL);
  zeCommandQueueSynchronize(queue, UINT64_MAX);
  zeCommandListDestroy(list);
}

WRONG copies_to_nowhere(void) {
  ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
  ze_command_list_handle_t lost;
  zeCommandListCreateImmediate(context, device, &desc, &lost);
  zeCommandListAppendMemoryCopy(lost, (void*)(uintptr_t)0x700000001000, memory, SIZE, NULL, 0, NULL);
  zeCommandListDestroy(lost);
}

// Objects that belong to others

WRONG destroys_a_pool_before_its_event(void) {
  ze_event_pool_desc_t pool_desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1};
  ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
  ze_event_pool_handle_t early;
  ze_event_handle_t late;
  zeEventPoolCreate(context, &pool_desc, 0, NULL, &early);
  zeEventCreate(early, &desc, &late);
  zeEventPoolDestroy(early);
  zeEventDestroy(late);
}

WRONG makes_two_events_of_one_index(void) {
  ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = 3};
  ze_event_handle_t made[2];
  zeEventCreate(pool, &desc, &made[0]);
  zeEventCreate(pool, &desc, &made[1]);
  zeEventDestroy(made[0]);
  zeEventDestroy(made[1]);
}

WRONG destroys_a_context_with_addresses(void) {
  ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  ze_context_handle_t made;
  void* reserved;
  zeContextCreate(driver, &desc, &made);
  zeVirtualMemReserve(made, NULL, 1 << 21, &reserved);
  zeContextDestroy(made);
}

static int set_up(void) {
  uint32_t count = 1;
  OK(zeInit(0));
  OK(zeDriverGet(&count, &driver));
  count = 1;
  OK(zeDeviceGet(driver, &count, &device));
  ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  OK(zeContextCreate(driver, &context_desc, &context));
  OK(zeContextCreate(driver, &context_desc, &other_context));
  ze_device_mem_alloc_desc_t memory_desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  ze_host_mem_alloc_desc_t host_desc = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  OK(zeMemAllocDevice(context, &memory_desc, SIZE, 0, device, (void**)&memory));
  OK(zeMemAllocHost(context, &host_desc, 2 * SIZE, 0, (void**)&host));
  OK(zeMemAllocDevice(other_context, &memory_desc, SIZE, 0, device, (void**)&foreign));
  ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
  OK(zeCommandListCreateImmediate(context, device, &queue_desc, &synchronous));
  queue_desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  OK(zeCommandListCreateImmediate(context, device, &queue_desc, &asynchronous));
  OK(zeCommandQueueCreate(context, device, &queue_desc, &queue));
  ze_command_list_desc_t list_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
  OK(zeCommandListCreate(context, device, &list_desc, &recorded));
  ze_event_pool_desc_t pool_desc = {
      .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = 4};
  OK(zeEventPoolCreate(context, &pool_desc, 0, NULL, &pool));
  ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .signal = ZE_EVENT_SCOPE_FLAG_HOST};
  OK(zeEventCreate(pool, &desc, &gate));
  desc.index = 1;
  OK(zeEventCreate(pool, &desc, &event));
  desc.index = 2;
  desc.signal = 0;
  OK(zeEventCreate(pool, &desc, &unscoped));
  ze_fence_desc_t fence_desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
  OK(zeFenceCreate(queue, &fence_desc, &fence));
  return 0;
}

// In order, and without a report.
static int tear_down(void) {
  OK(zeEventHostSignal(gate));
  OK(zeCommandListHostSynchronize(asynchronous, UINT64_MAX));
  OK(zeCommandQueueSynchronize(queue, UINT64_MAX));
  OK(zeFenceDestroy(fence));
  OK(zeEventDestroy(gate));
  OK(zeEventDestroy(event));
  OK(zeEventDestroy(unscoped));
  OK(zeEventPoolDestroy(pool));
  OK(zeCommandListDestroy(recorded));
  OK(zeCommandListDestroy(synchronous));
  OK(zeCommandListDestroy(asynchronous));
  OK(zeCommandQueueDestroy(queue));
  OK(zeMemFree(context, host));
  OK(zeMemFree(context, memory));
  OK(zeContextDestroy(context));
  return 0;
}

int main(void) {
  if (set_up()) return 1;
  copies_too_much();
  fills_from_the_middle();
  copies_freed_memory();
  frees_twice();
  copies_memory_of_another_context();
  forgets_the_type_of_a_descriptor();
  awaits_a_result_without_host_scope();
  writes_a_misaligned_timestamp();
  appends_to_a_closed_list();
  destroys_an_event_twice();
  frees_from_the_middle();
  executes_an_open_list();
  makes_a_queue_of_no_group();
  copies_too_much_with_parameters();
  advises_about_too_much();
  copies_an_image_to_too_little();
  copies_rows_from_too_little();
  asks_times_into_too_little();
  executes_a_copy_to_freed_memory();
  copies_to_nowhere();
  destroys_a_pool_before_its_event();
  makes_two_events_of_one_index();
  destroys_a_context_with_addresses();
  waits_for_nothing();
  frees_what_a_command_uses();
  resets_what_a_command_awaits();
  destroys_a_list_in_flight();
  resets_a_fence_too_early();
  destroys_a_context_with_memory();
  return tear_down();
}
