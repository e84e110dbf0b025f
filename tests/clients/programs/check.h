// Shared code of the client programs: checked calls, assertions, the first device and kernels from files.
#pragma once

#include <level_zero/ze_api.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOREVER UINT64_MAX

#define CHECK(call)                                                                              \
  do {                                                                                           \
    ze_result_t result_ = (call);                                                                \
    if (result_ != ZE_RESULT_SUCCESS) {                                                          \
      fprintf(stderr, "%s:%d: %s returned %#x\n", __FILE__, __LINE__, #call, (unsigned)result_); \
      exit(1);                                                                                   \
    }                                                                                            \
  } while (0)

// Says what holds, or ends the program.
__attribute__((format(printf, 2, 3))) static inline void prove(bool holds, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf(holds ? "ok: " : "FAILED: ");
  vprintf(format, arguments);
  printf("\n");
  fflush(stdout);
  va_end(arguments);
  if (!holds) exit(1);
}

typedef struct {
  ze_driver_handle_t driver;
  ze_device_handle_t device;
  ze_context_handle_t context;
} setup_t;

static inline setup_t set_up(void) {
  setup_t s;
  uint32_t one = 1;
  CHECK(zeInit(ZE_INIT_FLAG_GPU_ONLY));
  CHECK(zeDriverGet(&one, &s.driver));
  one = 1;
  CHECK(zeDeviceGet(s.driver, &one, &s.device));
  ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  CHECK(zeContextCreate(s.driver, &desc, &s.context));
  return s;
}

static inline void* host_memory(setup_t s, size_t size) {
  ze_host_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  void* memory = NULL;
  CHECK(zeMemAllocHost(s.context, &desc, size, 64, &memory));
  return memory;
}

static inline void* device_memory(setup_t s, size_t size) {
  ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  void* memory = NULL;
  CHECK(zeMemAllocDevice(s.context, &desc, size, 64, s.device, &memory));
  return memory;
}

static inline ze_command_queue_handle_t make_queue(setup_t s, uint32_t ordinal) {
  ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .ordinal = ordinal};
  ze_command_queue_handle_t queue = NULL;
  CHECK(zeCommandQueueCreate(s.context, s.device, &desc, &queue));
  return queue;
}

static inline ze_command_list_handle_t make_list(setup_t s, uint32_t ordinal) {
  ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, .commandQueueGroupOrdinal = ordinal};
  ze_command_list_handle_t list = NULL;
  CHECK(zeCommandListCreate(s.context, s.device, &desc, &list));
  return list;
}

static inline ze_command_list_handle_t make_immediate(setup_t s, uint32_t ordinal, ze_command_queue_mode_t mode) {
  ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .ordinal = ordinal, .mode = mode};
  ze_command_list_handle_t list = NULL;
  CHECK(zeCommandListCreateImmediate(s.context, s.device, &desc, &list));
  return list;
}

static inline ze_event_pool_handle_t make_pool(setup_t s, uint32_t count, ze_event_pool_flags_t flags) {
  ze_event_pool_desc_t desc = {
      .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = flags | ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = count};
  ze_event_pool_handle_t pool = NULL;
  CHECK(zeEventPoolCreate(s.context, &desc, 1, &s.device, &pool));
  return pool;
}

static inline ze_event_handle_t make_event(ze_event_pool_handle_t pool, uint32_t index) {
  ze_event_desc_t desc = {
      .stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = index, .signal = ZE_EVENT_SCOPE_FLAG_HOST, .wait = ZE_EVENT_SCOPE_FLAG_HOST};
  ze_event_handle_t event = NULL;
  CHECK(zeEventCreate(pool, &desc, &event));
  return event;
}

static inline ze_module_handle_t load_with_flags(setup_t s, const char* path, const char* flags) {
  FILE* file = fopen(path, "rb");
  if (!file) {
    fprintf(stderr, "cannot open %s\n", path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  size_t size = (size_t)ftell(file);
  rewind(file);
  uint8_t* code = (uint8_t*)malloc(size);
  if (fread(code, 1, size, file) != size) exit(1);
  fclose(file);
  ze_module_desc_t desc = {
      .stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_IL_SPIRV, .inputSize = size, .pInputModule = code};
  desc.pBuildFlags = flags;
  ze_module_handle_t module = NULL;
  ze_module_build_log_handle_t log = NULL;
  ze_result_t result = zeModuleCreate(s.context, s.device, &desc, &module, &log);
  if (result != ZE_RESULT_SUCCESS) {
    char text[4096] = "";
    size_t length = sizeof text;
    if (log) zeModuleBuildLogGetString(log, &length, text);
    fprintf(stderr, "zeModuleCreate(%s) returned %#x: %s\n", path, (unsigned)result, text);
    exit(1);
  }
  CHECK(zeModuleBuildLogDestroy(log));
  free(code);
  return module;
}

static inline ze_module_handle_t load_module(setup_t s, const char* path) { return load_with_flags(s, path, NULL); }

static inline ze_kernel_handle_t make_kernel(ze_module_handle_t module, const char* name) {
  ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
  ze_kernel_handle_t kernel = NULL;
  CHECK(zeKernelCreate(module, &desc, &kernel));
  return kernel;
}

#define ARGUMENT(kernel, index, value) CHECK(zeKernelSetArgumentValue(kernel, index, sizeof(value), &(value)))

static inline void run_list(ze_command_queue_handle_t queue, ze_command_list_handle_t list) {
  CHECK(zeCommandListClose(list));
  CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
  CHECK(zeCommandQueueSynchronize(queue, FOREVER));
}
