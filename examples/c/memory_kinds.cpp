// needs: ANYZERO_DEVICES=cpu:memory=64M
// Host, device and shared memory: properties of a pointer, memory limits, and the hints for memory
// that may migrate.
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

uint64_t usable_bytes(ze_device_handle_t device) {
  ze_device_usablemem_size_ext_properties_t usable = {.stype = ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES};
  ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, .pNext = &usable};
  CHECK(zeDeviceGetProperties(device, &properties));
  return usable.currUsableMemSize;
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

  // Shared memory may exceed the memory of its device: the excess is on the host until it is used.
  const uint64_t half = usable_bytes(s.device) / 2;
  char* more[3];
  for (char*& each : more) {
    void* made = nullptr;
    CHECK(zeMemAllocShared(s.context, &on_device, &on_host, half, 64, s.device, &made));
    each = static_cast<char*>(made);
    each[half - 1] = 1;
  }
  prove(more[0][half - 1] + more[1][half - 1] + more[2][half - 1] == 3, "%llu MiB of shared memory on a device with %llu MiB",
        static_cast<unsigned long long>(3 * half >> 20), static_cast<unsigned long long>(2 * half >> 20));

  // Two hints set its location. They are ordinary commands.
  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t away = s.list(), back = s.list();
  CHECK(zeCommandListAppendMemAdvise(away, s.device, more[0], half, ZE_MEMORY_ADVICE_SET_SYSTEM_MEMORY_PREFERRED_LOCATION));
  CHECK(zeCommandListAppendMemoryPrefetch(back, more[0], half));
  const uint64_t before = usable_bytes(s.device);
  s.run(queue, away);
  prove(usable_bytes(s.device) == before + half, "memory that prefers the host makes room on the device");
  s.run(queue, back);
  prove(usable_bytes(s.device) == before, "a prefetch brings it back before it is used");
  prove(zeCommandListAppendMemoryPrefetch(back, more[0], half + 1) == ZE_RESULT_ERROR_INVALID_SIZE,
        "a prefetch beyond the end of an allocation is refused");

  for (ze_command_list_handle_t list : {away, back}) CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  for (void* memory : {host, device, shared}) CHECK(zeMemFree(s.context, memory));
  for (char* memory : more) CHECK(zeMemFree(s.context, memory));
}
