// Commands without a queue: an immediate list submits each command when it is appended. First asynchronous, with copies and a
// kernel chained by events; then synchronous, where a call returns when its command is done.
#include <algorithm>

#include "kernels.h"

namespace {

ze_command_list_handle_t immediate(const Setup& s, ze_command_queue_mode_t mode, uint32_t ordinal) {
  ze_command_queue_desc_t desc = {
      .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .ordinal = ordinal, .index = 0, .flags = 0, .mode = mode};
  ze_command_list_handle_t list = nullptr;
  CHECK(zeCommandListCreateImmediate(s.context, s.device, &desc, &list));
  return list;
}

}  // namespace

int main() {
  constexpr uint32_t kCount = 1024, kGroup = 64;
  constexpr size_t kBytes = kCount * sizeof(float);
  Setup s;
  float* host = s.host<float>(kCount);
  float* device = s.local<float>(kCount);
  float stack[kCount] = {};
  std::fill_n(host, kCount, 3.0f);
  auto all = [](const float* values, float expected) {
    return std::all_of(values, values + kCount, [=](float value) { return value == expected; });
  };
  ze_module_handle_t module = make_module(s, "saxpy");
  ze_kernel_handle_t saxpy = make_kernel(module, "saxpy");
  set_arguments(saxpy, device, host, 2.0f);
  CHECK(zeKernelSetGroupSize(saxpy, kGroup, 1, 1));
  ze_group_count_t groups = {kCount / kGroup, 1, 1};
  ze_event_pool_handle_t pool = s.pool(5);
  ze_event_handle_t events[5];
  for (uint32_t i = 0; i < 5; ++i) events[i] = s.event(pool, i);
  auto [go, uploaded, back, launched, copied] = events;

  // Lists of both engines, appended to in the wrong order on purpose: the events fix the order.
  ze_command_list_handle_t list = immediate(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS, 0);
  ze_command_list_handle_t copies = immediate(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS, 1);
  CHECK(zeCommandListAppendMemoryCopy(list, stack, device, kBytes, back, 1, &uploaded));
  CHECK(zeCommandListAppendMemoryCopy(copies, device, host, kBytes, uploaded, 1, &go));
  prove(all(stack, 0), "asynchronous: a call returns before its command is done");
  {
    std::jthread later = signal_later(go);
    CHECK(zeEventHostSynchronize(back, kForever));
    prove(all(stack, 3), "asynchronous: host -> device -> stack, chained by events");
    prove(zeEventQueryStatus(uploaded) == ZE_RESULT_SUCCESS, "the event between the two copies is signalled too");
  }

  CHECK(zeEventHostReset(go));
  CHECK(zeCommandListAppendMemoryCopy(copies, stack, device, kBytes, copied, 1, &launched));
  CHECK(zeCommandListAppendLaunchKernel(list, saxpy, &groups, launched, 1, &go));
  {
    std::jthread later = signal_later(go);
    CHECK(zeEventHostSynchronize(copied, kForever));
    prove(all(stack, 9), "asynchronous: a kernel, and a copy after it");
  }
  for (ze_command_list_handle_t each : {list, copies}) CHECK(zeCommandListDestroy(each));

  list = immediate(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS, 0);
  set_arguments(saxpy, host, device, 1.0f);
  CHECK(zeEventHostReset(go));
  {
    std::jthread later = signal_later(go);
    CHECK(zeCommandListAppendLaunchKernel(list, saxpy, &groups, nullptr, 1, &go));
    prove(all(host, 12), "synchronous: the kernel is done when the call returns");
  }
  CHECK(zeCommandListDestroy(list));

  for (ze_event_handle_t event : events) CHECK(zeEventDestroy(event));
  CHECK(zeEventPoolDestroy(pool));
  CHECK(zeKernelDestroy(saxpy));
  CHECK(zeModuleDestroy(module));
  CHECK(zeMemFree(s.context, host));
  CHECK(zeMemFree(s.context, device));
}
