// Host, device and shared memory, what the driver knows about a pointer, and the two hints for memory that may move.
#include "check.h"

namespace {

const char* name_of(ze_memory_type_t type) {
  switch (type) {
    case ZE_MEMORY_TYPE_HOST:
      return "host";
    case ZE_MEMORY_TYPE_DEVICE:
      return "device";
    case ZE_MEMORY_TYPE_SHARED:
      return "shared";
    default:
      return "unknown";
  }
}

ze_memory_type_t type_of(const Setup& s, const void* pointer, ze_device_handle_t* owner) {
  ze_memory_allocation_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
  CHECK(zeMemGetAllocProperties(s.context, pointer, &properties, owner));
  return properties.type;
}

}  // namespace

int main() {
  constexpr size_t kBytes = 1 << 16;
  Setup s;
  ze_host_mem_alloc_desc_t on_host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  ze_device_mem_alloc_desc_t on_device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  void *host = nullptr, *device = nullptr, *shared = nullptr;
  CHECK(zeMemAllocHost(s.context, &on_host, kBytes, 64, &host));
  CHECK(zeMemAllocDevice(s.context, &on_device, kBytes, 64, s.device, &device));
  CHECK(zeMemAllocShared(s.context, &on_device, &on_host, kBytes, 64, s.device, &shared));

  int ours = 0;
  const struct {
    const void* pointer;
    ze_memory_type_t type;
  } cases[] = {{host, ZE_MEMORY_TYPE_HOST},
               {static_cast<char*>(device) + 100, ZE_MEMORY_TYPE_DEVICE},  // any address inside will do
               {shared, ZE_MEMORY_TYPE_SHARED},
               {&ours, ZE_MEMORY_TYPE_UNKNOWN}};
  for (const auto& c : cases) {
    ze_device_handle_t owner = nullptr;
    ze_memory_type_t type = type_of(s, c.pointer, &owner);
    prove(type == c.type, "%p is %s memory%s", c.pointer, name_of(type), owner == s.device ? " of the first device" : "");
  }

  // Shared memory may move; a program can ask for it early, and say how it will be used.
  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();
  CHECK(zeCommandListAppendMemoryPrefetch(list, shared, kBytes));
  CHECK(zeCommandListAppendMemAdvise(list, s.device, shared, kBytes, ZE_MEMORY_ADVICE_SET_READ_MOSTLY));
  s.run(queue, list);
  prove(true, "prefetch and advice are commands like any other");

  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  for (void* memory : {host, device, shared}) CHECK(zeMemFree(s.context, memory));
}
