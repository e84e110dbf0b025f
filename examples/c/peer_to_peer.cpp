// needs: ANYZERO_DEVICES=cpu,cpu
// Two devices: ask whether one reaches the other's memory, then copy straight from the one to the other.
#include "check.h"

int main() {
  constexpr size_t kCount = 4096;
  Setup s;
  prove(s.devices.size() >= 2, "there are %zu devices", s.devices.size());
  ze_device_handle_t one = s.devices[0], two = s.devices[1];

  ze_bool_t reaches = false;
  CHECK(zeDeviceCanAccessPeer(one, two, &reaches));
  prove(reaches, "device 0 can reach the memory of device 1");
  ze_device_p2p_properties_t p2p = {.stype = ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES};
  CHECK(zeDeviceGetP2PProperties(one, two, &p2p));
  prove(p2p.flags & ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS, "and says so in its peer-to-peer properties (flags %#x)", p2p.flags);

  uint32_t* here = s.local<uint32_t>(kCount, one);
  uint32_t* there = s.local<uint32_t>(kCount, two);
  uint32_t* back = s.host<uint32_t>(kCount);
  ze_command_queue_handle_t queue = s.queue();  // on device 0
  ze_command_list_handle_t list = s.list();
  uint32_t pattern = 77;
  CHECK(zeCommandListAppendMemoryFill(list, here, &pattern, sizeof pattern, kCount * sizeof pattern, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendMemoryCopy(list, there, here, kCount * sizeof pattern, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendMemoryCopy(list, back, there, kCount * sizeof pattern, nullptr, 0, nullptr));
  s.run(queue, list);
  prove(back[0] == 77 && back[kCount - 1] == 77, "device 0 -> device 1 -> host");

  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  for (uint32_t* memory : {here, there, back}) CHECK(zeMemFree(s.context, memory));
}
