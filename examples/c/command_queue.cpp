// Query the queue groups of a device, then create a queue of each.
#include "check.h"

int main() {
  Setup s;
  uint32_t count = 0;
  CHECK(zeDeviceGetCommandQueueGroupProperties(s.device, &count, nullptr));
  std::vector<ze_command_queue_group_properties_t> groups(count, {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES});
  CHECK(zeDeviceGetCommandQueueGroupProperties(s.device, &count, groups.data()));

  for (uint32_t ordinal = 0; ordinal < count; ++ordinal) {
    bool compute = groups[ordinal].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE;
    // The ordinal names the group, the index one of its physical queues.
    ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                    .ordinal = ordinal,
                                    .index = 0,
                                    .flags = 0,
                                    .mode = ZE_COMMAND_QUEUE_MODE_DEFAULT,
                                    .priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL};
    ze_command_queue_handle_t queue = nullptr;
    CHECK(zeCommandQueueCreate(s.context, s.device, &desc, &queue));
    uint32_t told = UINT32_MAX;
    CHECK(zeCommandQueueGetOrdinal(queue, &told));
    prove(told == ordinal, "group %u: %s, %u physical queue(s)", ordinal, compute ? "compute and copy" : "copy only",
          groups[ordinal].numQueues);
    CHECK(zeCommandQueueDestroy(queue));
  }

  ze_command_queue_desc_t wrong = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .ordinal = count};
  ze_command_queue_handle_t none = nullptr;
  ze_result_t refused = zeCommandQueueCreate(s.context, s.device, &wrong, &none);
  prove(refused == ZE_RESULT_ERROR_INVALID_ARGUMENT, "a queue group that does not exist is refused: %s", last_error());
}
