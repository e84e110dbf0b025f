// The first kernel: y = a x + y. All steps from a SPIR-V file to a result.
#include "kernels.h"

int main() {
  constexpr uint32_t kCount = 1 << 20;
  Setup s;
  float* x = s.host<float>(kCount);
  float* y = s.host<float>(kCount);
  for (uint32_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(i), y[i] = 1;

  // A module is built from a whole file, a kernel is one function of it.
  Bytes code = spirv("saxpy");
  ze_module_desc_t module_desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                  .format = ZE_MODULE_FORMAT_IL_SPIRV,
                                  .inputSize = code.size(),
                                  .pInputModule = code.data()};
  ze_module_handle_t module = nullptr;
  CHECK(zeModuleCreate(s.context, s.device, &module_desc, &module, nullptr));
  ze_kernel_desc_t kernel_desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "saxpy"};
  ze_kernel_handle_t kernel = nullptr;
  CHECK(zeKernelCreate(module, &kernel_desc, &kernel));

  // Arguments by index, each as a size and the address of its value.
  float a = 2;
  CHECK(zeKernelSetArgumentValue(kernel, 0, sizeof y, &y));
  CHECK(zeKernelSetArgumentValue(kernel, 1, sizeof x, &x));
  CHECK(zeKernelSetArgumentValue(kernel, 2, sizeof a, &a));

  // The driver suggests a group size, which determines the group count.
  uint32_t width = 0, height = 0, depth = 0;
  CHECK(zeKernelSuggestGroupSize(kernel, kCount, 1, 1, &width, &height, &depth));
  CHECK(zeKernelSetGroupSize(kernel, width, height, depth));
  ze_group_count_t groups = {kCount / width, 1, 1};

  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();
  CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, nullptr, 0, nullptr));
  s.run(queue, list);
  bool good = true;
  for (uint32_t i = 0; i < kCount; ++i) good &= y[i] == 2 * x[i] + 1;
  prove(good, "a million elements, in %u groups of %u", groups.groupCountX, width);

  // Arguments were copied when the launch was appended, so new values apply to new launches. The list replays the old ones.
  a = 100;
  CHECK(zeKernelSetArgumentValue(kernel, 2, sizeof a, &a));
  CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
  CHECK(zeCommandQueueSynchronize(queue, kForever));
  for (uint32_t i = 0; i < kCount; ++i) good &= y[i] == 4 * x[i] + 1;
  prove(good, "a recorded launch ran a second time, with the arguments it was recorded with");

  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeKernelDestroy(kernel));
  CHECK(zeModuleDestroy(module));
  CHECK(zeMemFree(s.context, x));
  CHECK(zeMemFree(s.context, y));
}
