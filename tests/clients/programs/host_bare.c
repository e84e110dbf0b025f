// Functions that work without a compiler: the device, memory, copies, events.
#include "host.h"

int main(void) {
  setup_t s = set_up();
  ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  CHECK(zeDeviceGetProperties(s.device, &properties));
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  prove(properties.numSubslicesPerSlice == (uint32_t)CPU_COUNT(&allowed), "%s has the threads of the machine", properties.name);
  const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  prove(properties.maxMemAllocSize > memory / 1000 && properties.maxMemAllocSize <= memory, "and no more than its memory");
  uint8_t *from = host_memory(s, 4 << 20), *to = device_memory(s, 4 << 20);
  memset(from, 7, 4 << 20);
  ze_event_pool_handle_t pool = make_pool(s, 1, 0);
  ze_event_handle_t done = make_event(pool, 0);
  ze_command_list_handle_t list = make_immediate(s, 0, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  CHECK(zeCommandListAppendMemoryCopy(list, to, from, 4 << 20, done, 0, NULL));
  CHECK(zeEventHostSynchronize(done, FOREVER));
  prove(to[0] == 7 && to[(4 << 20) - 1] == 7, "copies and events work");
  uint8_t nothing[64] = {0};
  ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                           .format = ZE_MODULE_FORMAT_IL_SPIRV,
                           .inputSize = sizeof nothing,
                           .pInputModule = nothing};
  ze_module_handle_t module = NULL;
  ze_result_t result = zeModuleCreate(s.context, s.device, &desc, &module, NULL);
  prove(result == ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE && strstr(last_error(s), "ANYZERO_PYTHON"), "modules name the remedy");
  return 0;
}
