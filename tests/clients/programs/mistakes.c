// Wrong calls return the specified result, with any loader between program and driver.
#include "check.h"

static void expect(ze_result_t found, ze_result_t wanted, const char* what) {
  prove(found == wanted, "%s: %#x", what, (unsigned)found);
}

int main(void) {
  setup_t s = set_up();
  ze_command_list_handle_t list = make_list(s, 0);
  ze_host_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  void* memory = NULL;
  expect(zeMemAllocHost(s.context, &desc, 64, 0, NULL), ZE_RESULT_ERROR_INVALID_NULL_POINTER, "no place for the result");
  expect(zeMemAllocHost(s.context, NULL, 64, 0, &memory), ZE_RESULT_ERROR_INVALID_NULL_POINTER, "no description");
  expect(zeMemAllocHost(NULL, &desc, 64, 0, &memory), ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "no context");
  expect(zeMemAllocHost(s.context, &desc, 0, 0, &memory), ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "no bytes");
  expect(zeMemAllocHost(s.context, &desc, 64, 3, &memory), ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "an odd alignment");
  desc.flags = 1u << 30;
  expect(zeMemAllocHost(s.context, &desc, 64, 0, &memory), ZE_RESULT_ERROR_INVALID_ENUMERATION, "an unknown flag");
  expect(zeCommandListAppendMemoryCopy(list, NULL, &desc, 8, NULL, 0, NULL), ZE_RESULT_ERROR_INVALID_NULL_POINTER,
         "a copy to nowhere");
  expect(zeCommandListAppendBarrier(list, NULL, 1, NULL), ZE_RESULT_ERROR_INVALID_SIZE, "one event to wait for, and none is named");
  expect(zeMemFree(s.context, NULL), ZE_RESULT_ERROR_INVALID_NULL_POINTER, "nothing to free");
  ze_module_desc_t module_desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                  .format = (ze_module_format_t)77,
                                  .inputSize = 4,
                                  .pInputModule = (const uint8_t*)"text"};
  ze_module_handle_t module = NULL;
  expect(zeModuleCreate(s.context, s.device, &module_desc, &module, NULL), ZE_RESULT_ERROR_INVALID_ENUMERATION,
         "an unknown format");

  // And then everything still works.
  ze_command_queue_handle_t queue = make_queue(s, 0);
  uint32_t *value = host_memory(s, 4), pattern = 5;
  CHECK(zeCommandListAppendMemoryFill(list, value, &pattern, 4, 4, NULL, 0, NULL));
  run_list(queue, list);
  prove(*value == 5, "afterwards a fill works");
  CHECK(zeMemFree(s.context, value));
  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeContextDestroy(s.context));
}
