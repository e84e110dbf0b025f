// needs: ANYZERO_DEVICES=cpu:tiles=3,memory=96M
// A device of three tiles: find sub-device 2, take memory from it alone, and run a queue on it.
#include "check.h"

int main() {
  constexpr size_t kBytes = 4096;
  Setup s;
  uint32_t count = 0;
  CHECK(zeDeviceGetSubDevices(s.device, &count, nullptr));
  prove(count >= 3, "the device has %u sub-devices", count);
  std::vector<ze_device_handle_t> tiles(count);
  CHECK(zeDeviceGetSubDevices(s.device, &count, tiles.data()));

  ze_device_handle_t tile = tiles[2];
  ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  CHECK(zeDeviceGetProperties(tile, &properties));
  prove(properties.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE, "the handle is a sub-device's");
  prove(properties.subdeviceId == 2, "and it is sub-device 2");
  ze_device_handle_t root = nullptr;
  CHECK(zeDeviceGetRootDevice(tile, &root));
  prove(root == s.device, "its root is the whole device");

  unsigned char* memory = s.local<unsigned char>(kBytes, tile);
  ze_memory_allocation_properties_t about = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
  ze_device_handle_t owner = nullptr;
  CHECK(zeMemGetAllocProperties(s.context, memory, &about, &owner));
  prove(owner == tile, "memory allocated on the sub-device belongs to it");

  // The memory of other sub-devices is not used, unless the allocation is on the whole device.
  uint32_t one = 1;
  ze_device_memory_properties_t room = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES};
  CHECK(zeDeviceGetMemoryProperties(tile, &one, &room));
  ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  void *most = nullptr, *more = nullptr;
  size_t bytes = room.totalSize / 4 * 3;
  CHECK(zeMemAllocDevice(s.context, &desc, bytes, 0, tile, &most));
  ze_result_t spent = zeMemAllocDevice(s.context, &desc, bytes, 0, tile, &more);
  prove(spent == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "the sub-device has only its own memory: %s", last_error());
  prove(zeMemAllocDevice(s.context, &desc, bytes, 0, s.device, &more) == ZE_RESULT_SUCCESS, "the whole device has more");
  for (void* each : {most, more}) CHECK(zeMemFree(s.context, each));

  // Ordinals are relative to the sub-device.
  uint32_t groups = 0;
  CHECK(zeDeviceGetCommandQueueGroupProperties(tile, &groups, nullptr));
  ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .ordinal = 0};
  prove(queue_desc.ordinal < groups, "the sub-device has its own %u queue groups", groups);
  ze_command_queue_handle_t queue = nullptr;
  CHECK(zeCommandQueueCreate(s.context, tile, &queue_desc, &queue));
  ze_command_list_desc_t list_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
  ze_command_list_handle_t list = nullptr;
  CHECK(zeCommandListCreate(s.context, tile, &list_desc, &list));

  unsigned char pattern = 2, back[kBytes] = {};
  CHECK(zeCommandListAppendMemoryFill(list, memory, &pattern, 1, kBytes, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendMemoryCopy(list, back, memory, kBytes, nullptr, 0, nullptr));
  s.run(queue, list);
  prove(back[0] == 2 && back[kBytes - 1] == 2, "a queue on sub-device 2 filled its memory");

  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeMemFree(s.context, memory));
}
