// One device with everything that the items use, made through the C API as any program would.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "ze_api.h"

namespace bench {

inline constexpr uint64_t kForever = UINT64_MAX;

// A benchmark that goes on after an error measures the error.
[[noreturn, gnu::cold, gnu::noinline]] inline void give_up(ze_result_t result) {
  std::fprintf(stderr, "error: a Level Zero call returned %#x\n", static_cast<unsigned>(result));
  std::exit(1);
}

inline void ok(ze_result_t result) {
  if (result != ZE_RESULT_SUCCESS) give_up(result);
}

struct Rig {
  ze_driver_handle_t driver = nullptr;
  ze_device_handle_t device = nullptr;
  ze_context_handle_t context = nullptr;
  uint32_t compute = 0;  // ordinals of the two queue groups
  uint32_t copy = 0;

  Rig() {
    ze_init_driver_type_desc_t type{ZE_STRUCTURE_TYPE_INIT_DRIVER_TYPE_DESC, nullptr, ZE_INIT_DRIVER_TYPE_FLAG_GPU};
    uint32_t count = 1;
    ok(zeInitDrivers(&count, &driver, &type));
    count = 1;
    ok(zeDeviceGet(driver, &count, &device));
    ze_context_desc_t desc{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    ok(zeContextCreate(driver, &desc, &context));

    count = 0;
    ok(zeDeviceGetCommandQueueGroupProperties(device, &count, nullptr));
    std::vector<ze_command_queue_group_properties_t> groups(count);
    for (auto& group : groups) group.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
    ok(zeDeviceGetCommandQueueGroupProperties(device, &count, groups.data()));
    for (uint32_t i = count; i-- > 0;) (groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE ? compute : copy) = i;
  }

  ze_command_list_handle_t list(uint32_t ordinal) const {
    ze_command_list_desc_t desc{ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, ordinal, 0};
    ze_command_list_handle_t list;
    ok(zeCommandListCreate(context, device, &desc, &list));
    return list;
  }
  ze_command_list_handle_t list() const { return list(compute); }

  ze_command_queue_handle_t queue(uint32_t ordinal) const {
    ze_command_queue_desc_t desc = queue_desc(ordinal, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    ze_command_queue_handle_t queue;
    ok(zeCommandQueueCreate(context, device, &desc, &queue));
    return queue;
  }
  ze_command_queue_handle_t queue() const { return queue(compute); }

  ze_command_list_handle_t immediate(uint32_t ordinal, ze_command_queue_mode_t mode) const {
    ze_command_queue_desc_t desc = queue_desc(ordinal, mode);
    ze_command_list_handle_t list;
    ok(zeCommandListCreateImmediate(context, device, &desc, &list));
    return list;
  }

  ze_event_pool_handle_t pool(uint32_t count) const {
    ze_event_pool_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, count};
    ze_event_pool_handle_t pool;
    ok(zeEventPoolCreate(context, &desc, 0, nullptr, &pool));
    return pool;
  }

  static ze_event_handle_t event(ze_event_pool_handle_t pool, uint32_t index) {
    ze_event_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, index, ZE_EVENT_SCOPE_FLAG_HOST, ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_handle_t event;
    ok(zeEventCreate(pool, &desc, &event));
    return event;
  }

  std::vector<ze_event_handle_t> events(uint32_t count) const {
    ze_event_pool_handle_t shared = pool(count);
    std::vector<ze_event_handle_t> events;
    for (uint32_t i = 0; i < count; ++i) events.push_back(event(shared, i));
    return events;
  }

  void* memory(size_t size) const {
    ze_device_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
    void* memory;
    ok(zeMemAllocDevice(context, &desc, size, 0, device, &memory));
    return memory;
  }
  void free(void* memory) const { ok(zeMemFree(context, memory)); }

 private:
  static ze_command_queue_desc_t queue_desc(uint32_t ordinal, ze_command_queue_mode_t mode) {
    return {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, nullptr, ordinal, 0, 0, mode, ZE_COMMAND_QUEUE_PRIORITY_NORMAL};
  }
};

}  // namespace bench
