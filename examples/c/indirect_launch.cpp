// Indirect launches: an earlier kernel computes the group count, and the host does not read it.
#include <algorithm>

#include "kernels.h"

int main() {
  constexpr uint32_t kCount = 1000, kGroup = 16;
  Setup s;
  ze_module_handle_t module = make_module(s, "indirect_launch");
  ze_kernel_handle_t keep_positive = make_kernel(module, "keep_positive"), plan = make_kernel(module, "plan");
  ze_kernel_handle_t square = make_kernel(module, "square");
  int32_t* numbers = s.host<int32_t>(kCount);
  int32_t* kept = s.host<int32_t>(kCount);
  int32_t* count = s.host<int32_t>(1);
  ze_group_count_t* groups = s.host<ze_group_count_t>(3);
  std::vector<int32_t> expected;
  for (uint32_t i = 0; i < kCount; ++i) {
    numbers[i] = static_cast<int32_t>(i * 7919 % 201) - 100;
    if (numbers[i] >= 0) expected.push_back(numbers[i] * numbers[i]);
  }
  *count = 0;

  set_arguments(keep_positive, numbers, kept, count);
  set_arguments(plan, count, groups);
  set_arguments(square, kept, count);
  CHECK(zeKernelSetGroupSize(keep_positive, 8, 1, 1));
  CHECK(zeKernelSetGroupSize(plan, 1, 1, 1));
  CHECK(zeKernelSetGroupSize(square, kGroup, 1, 1));
  ze_group_count_t all = {kCount / 8, 1, 1}, one = {1, 1, 1};

  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();
  CHECK(zeCommandListAppendLaunchKernel(list, keep_positive, &all, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendLaunchKernel(list, plan, &one, nullptr, 0, nullptr));
  CHECK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  // Read by the device when the launch begins.
  CHECK(zeCommandListAppendLaunchKernelIndirect(list, square, groups, nullptr, 0, nullptr));
  s.run(queue, list);

  std::sort(kept, kept + *count);
  std::sort(expected.begin(), expected.end());
  prove(std::equal(expected.begin(), expected.end(), kept, kept + *count), "%d of %u numbers were left, so %u groups ran", *count,
        kCount, groups->groupCountX);

  // Several kernels at once; their number is read from memory too.
  ze_kernel_handle_t again[3];
  int32_t* values = s.host<int32_t>(3);
  uint32_t* how_many = s.host<uint32_t>(1);
  *count = 1, *how_many = 2;
  for (int i = 0; i < 3; ++i) {
    values[i] = 3;
    groups[i] = {1, 1, 1};
    again[i] = make_kernel(module, "square");
    set_arguments(again[i], values + i, count);
    CHECK(zeKernelSetGroupSize(again[i], 1, 1, 1));
  }
  CHECK(zeCommandListReset(list));
  CHECK(zeCommandListAppendLaunchMultipleKernelsIndirect(list, 3, again, how_many, groups, nullptr, 0, nullptr));
  s.run(queue, list);
  prove(values[0] == 9 && values[1] == 9 && values[2] == 3, "of three launches the first two ran, according to a number in memory");

  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  for (ze_kernel_handle_t kernel : {keep_positive, plan, square, again[0], again[1], again[2]}) CHECK(zeKernelDestroy(kernel));
  CHECK(zeModuleDestroy(module));
  for (void* memory : std::initializer_list<void*>{numbers, kept, count, groups, values, how_many})
    CHECK(zeMemFree(s.context, memory));
}
