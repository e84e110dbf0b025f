// needs: ANYZERO_DEVICES=cpu:paging=off
// A device without on-demand paging accesses evicted memory: the queue is lost, with a report; the program
// continues.
#include <string>

#include "kernels.h"

struct Node {
  Node* next;
  uint64_t value;
};

// The result of a recorded list when some of its memory is evicted before it is executed. A small list may run while it is
// submitted, so either call may return the error.
ze_result_t execute_without(const Setup& s, ze_command_list_handle_t list, void* evicted, size_t size) {
  CHECK(zeCommandListClose(list));
  CHECK(zeContextMakeMemoryResident(s.context, s.device, evicted, size));
  CHECK(zeContextEvictMemory(s.context, s.device, evicted, size));
  ze_command_queue_handle_t queue = s.queue();
  ze_result_t result = zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr);
  if (result == ZE_RESULT_SUCCESS) result = zeCommandQueueSynchronize(queue, kForever);
  CHECK(zeCommandQueueDestroy(queue));
  return result;
}

int main() {
  Setup s;
  uint32_t* memory = s.local<uint32_t>(1024);
  ze_command_list_handle_t fill = s.list(), launch = s.list();
  uint32_t pattern = 1;
  CHECK(zeCommandListAppendMemoryFill(fill, memory, &pattern, sizeof pattern, 4096, nullptr, 0, nullptr));
  ze_result_t result = execute_without(s, fill, memory, 4096);
  prove(result == ZE_RESULT_ERROR_DEVICE_LOST, "a command with an evicted argument:\n    %s", last_error());

  // begin -> end: the kernel is given the first node and follows the link.
  Node *begin = s.host<Node>(1), *end = s.host<Node>(1);
  *begin = {end, 1};
  *end = {nullptr, 10};
  uint64_t* total = s.host<uint64_t>(1);
  ze_module_handle_t module = make_module(s, "residency");
  ze_kernel_handle_t add_up = make_kernel(module, "add_up");
  set_arguments(add_up, begin, total);
  CHECK(zeKernelSetGroupSize(add_up, 1, 1, 1));
  ze_group_count_t one = {1, 1, 1};
  CHECK(zeCommandListAppendLaunchKernel(launch, add_up, &one, nullptr, 0, nullptr));
  result = execute_without(s, launch, end, sizeof *end);
  const bool named = std::string(last_error()).find("add_up") != std::string::npos;
  prove(result == ZE_RESULT_ERROR_DEVICE_LOST && named, "a kernel that reaches evicted memory through a link:\n    %s",
        last_error());
  prove(zeContextGetStatus(s.context) == ZE_RESULT_ERROR_DEVICE_LOST, "the context reports the lost queue");

  // A queue of another context is not affected.
  Setup other;
  uint32_t* fresh = other.host<uint32_t>(1);
  ze_command_queue_handle_t healthy = other.queue();
  ze_command_list_handle_t again = other.list();
  CHECK(zeCommandListAppendMemoryFill(again, fresh, &pattern, sizeof pattern, sizeof pattern, nullptr, 0, nullptr));
  other.run(healthy, again);
  prove(*fresh == 1, "other contexts keep working");

  for (ze_command_list_handle_t each : {fill, launch, again}) CHECK(zeCommandListDestroy(each));
  CHECK(zeCommandQueueDestroy(healthy));
  CHECK(zeKernelDestroy(add_up));
  CHECK(zeModuleDestroy(module));
  for (void* each : {static_cast<void*>(memory), static_cast<void*>(begin), static_cast<void*>(end), static_cast<void*>(total)})
    CHECK(zeMemFree(s.context, each));
  CHECK(zeMemFree(other.context, fresh));
}
