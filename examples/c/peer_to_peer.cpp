// needs: ANYZERO_DEVICES=cpu,cpu
// Two devices that access each other's memory: by copies, by kernels, and by concurrent atomics.
#include <algorithm>

#include "kernels.h"

namespace {

constexpr uint32_t kCount = 1 << 16, kGroup = 64;

// A device with its kernels and an immediate list.
struct Worker {
  const Setup& s;
  ze_module_handle_t module;
  ze_kernel_handle_t exchange, count;
  ze_command_list_handle_t list = nullptr;

  Worker(const Setup& s, ze_device_handle_t device)
      : s(s),
        module(make_module(s, "peer_to_peer", device)),
        exchange(make_kernel(module, "exchange")),
        count(make_kernel(module, "count")) {
    for (ze_kernel_handle_t kernel : {exchange, count}) CHECK(zeKernelSetGroupSize(kernel, kGroup, 1, 1));
    ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    CHECK(zeCommandListCreateImmediate(s.context, device, &desc, &list));
  }
  ~Worker() {
    CHECK(zeCommandListDestroy(list));
    for (ze_kernel_handle_t kernel : {exchange, count}) CHECK(zeKernelDestroy(kernel));
    CHECK(zeModuleDestroy(module));
  }

  void launch(ze_kernel_handle_t kernel, ze_event_handle_t done, ze_event_handle_t wait) const {
    ze_group_count_t groups = {kCount / kGroup, 1, 1};
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, done, 1, &wait));
  }
};

}  // namespace

int main() {
  Setup s;
  prove(s.devices.size() >= 2, "there are %zu devices", s.devices.size());
  ze_device_handle_t one = s.devices[0], two = s.devices[1];

  ze_bool_t reaches = false;
  CHECK(zeDeviceCanAccessPeer(one, two, &reaches));
  prove(reaches, "device 0 can access the memory of device 1");
  ze_device_p2p_properties_t p2p = {.stype = ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES};
  CHECK(zeDeviceGetP2PProperties(one, two, &p2p));
  prove(p2p.flags & ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS && p2p.flags & ZE_DEVICE_P2P_PROPERTY_FLAG_ATOMICS,
        "and its peer-to-peer properties report it, including atomics (flags %#x)", p2p.flags);

  constexpr size_t kBytes = kCount * sizeof(uint32_t);
  uint32_t* here = s.local<uint32_t>(kCount, one);
  uint32_t* there = s.local<uint32_t>(kCount, two);
  uint32_t* back = s.host<uint32_t>(kCount);
  uint32_t* places = s.local<uint32_t>(4, two);
  ze_command_queue_handle_t queue = s.queue();  // on device 0
  ze_command_list_handle_t list = s.list();
  std::vector<uint32_t> values(kCount);
  for (uint32_t i = 0; i < kCount; ++i) values[i] = i;
  auto copy = [&](void* to, const void* from, size_t bytes) {
    CHECK(zeCommandListAppendMemoryCopy(list, to, from, bytes, nullptr, 0, nullptr));
    CHECK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  };
  copy(here, values.data(), kBytes);
  copy(there, here, kBytes);
  copy(back, there, kBytes);
  s.run(queue, list);
  prove(std::equal(values.begin(), values.end(), back), "copies: host -> device 0 -> device 1 -> host");

  ze_event_pool_handle_t pool = s.pool(4);
  ze_event_handle_t exchanged, go, counted[2];
  uint32_t index = 0;
  for (ze_event_handle_t* event : {&exchanged, &go, &counted[0], &counted[1]}) {
    ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
                            .index = index++,
                            .signal = ZE_EVENT_SCOPE_FLAG_HOST,
                            .wait = ZE_EVENT_SCOPE_FLAG_HOST};
    CHECK(zeEventCreate(pool, &desc, event));
  }
  {
    // A module is built for one device; its kernels also accept memory of the other.
    Worker first(s, one), second(s, two);
    uint32_t zero = 0;
    CHECK(zeCommandListReset(list));
    CHECK(zeCommandListAppendMemoryFill(list, here, &zero, sizeof zero, kBytes, nullptr, 0, nullptr));
    s.run(queue, list);
    set_arguments(first.exchange, here, there);
    first.launch(first.exchange, exchanged, go);
    // Device 1 waits for device 0, and then does the same in the other direction.
    set_arguments(second.exchange, there, here);
    second.launch(second.exchange, counted[0], exchanged);
    CHECK(zeEventHostSignal(go));
    CHECK(zeEventHostSynchronize(counted[0], kForever));
    CHECK(zeCommandListReset(list));
    copy(back, here, kBytes);
    copy(values.data(), there, kBytes);
    s.run(queue, list);
    bool good = true;
    for (uint32_t i = 0; i < kCount; ++i) good &= back[i] == i + 1000 && values[i] == i;
    prove(good, "kernels: each device read and wrote the memory of the other, in turn");

    for (ze_event_handle_t event : {go, counted[0]}) CHECK(zeEventHostReset(event));
    CHECK(zeCommandListReset(list));
    uint32_t found[4];
    CHECK(zeCommandListAppendMemoryFill(list, places, &zero, sizeof zero, sizeof found, nullptr, 0, nullptr));
    s.run(queue, list);
    for (const Worker* worker : {&first, &second}) {
      set_arguments(worker->count, places);
      worker->launch(worker->count, counted[worker == &second], go);
    }
    CHECK(zeEventHostSignal(go));  // so that both begin at the same time
    for (ze_event_handle_t event : counted) CHECK(zeEventHostSynchronize(event, kForever));
    CHECK(zeCommandListReset(list));
    copy(found, places, sizeof found);
    s.run(queue, list);
    for (uint32_t count : found) good &= count == 2 * kCount / 4;
    prove(good, "atomics: both devices counted in the memory of device 1, and no count was lost");
  }

  for (ze_event_handle_t event : {exchanged, go, counted[0], counted[1]}) CHECK(zeEventDestroy(event));
  CHECK(zeEventPoolDestroy(pool));
  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  for (uint32_t* memory : {here, there, back, places}) CHECK(zeMemFree(s.context, memory));
}
