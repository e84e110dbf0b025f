// Arguments of every kind: memory, local memory, a number, a vector, a structure. Images and samplers: image_scaling.cpp.
#include "kernels.h"

namespace {

struct alignas(16) Float4 {
  float x, y, z, w;
};

struct Transform {
  float scale;
  int32_t shift;
};

constexpr uint32_t kCount = 64, kGroup = 16;

// The rows of each group are returned in reverse.
bool arrived(const Float4* out, const float* weights) {
  bool good = true;
  for (uint32_t i = 0; i < kCount; ++i) {
    uint32_t neighbour = i / kGroup * kGroup + kGroup - 1 - i % kGroup;
    float weight = weights ? weights[i] : 1;
    auto expected = [&](float base) { return (base * 2 + static_cast<float>(100 + 5 + neighbour)) * weight; };
    good &= out[i].x == expected(1) && out[i].y == expected(2) && out[i].z == expected(3) && out[i].w == expected(4);
  }
  return good;
}

}  // namespace

int main() {
  Setup s;
  ze_module_handle_t module = make_module(s, "kernel_arguments");
  ze_kernel_handle_t kernel = make_kernel(module, "every_sort");
  Float4* out = s.host<Float4>(kCount);
  float* weights = s.host<float>(kCount);
  for (uint32_t i = 0; i < kCount; ++i) weights[i] = static_cast<float>(i) / 8;
  int32_t first = 100;
  Float4 base = {1, 2, 3, 4};
  Transform transform = {.scale = 2, .shift = 5};

  CHECK(zeKernelSetArgumentValue(kernel, 0, sizeof out, &out));
  CHECK(zeKernelSetArgumentValue(kernel, 1, sizeof weights, &weights));
  // Local memory has a size and no value: each group has its own.
  CHECK(zeKernelSetArgumentValue(kernel, 2, kGroup * sizeof(Float4), nullptr));
  CHECK(zeKernelSetArgumentValue(kernel, 3, sizeof first, &first));
  CHECK(zeKernelSetArgumentValue(kernel, 4, sizeof base, &base));
  CHECK(zeKernelSetArgumentValue(kernel, 5, sizeof transform, &transform));
  CHECK(zeKernelSetGroupSize(kernel, kGroup, 1, 1));

  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();
  ze_group_count_t groups = {kCount / kGroup, 1, 1};
  CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, nullptr, 0, nullptr));

  // The launch has a copy of its arguments, so the next one can be set. A null pointer is passed as null.
  CHECK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  Float4* second = s.host<Float4>(kCount);
  CHECK(zeKernelSetArgumentValue(kernel, 0, sizeof second, &second));
  CHECK(zeKernelSetArgumentValue(kernel, 1, sizeof(void*), nullptr));
  CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, nullptr, 0, nullptr));
  s.run(queue, list);
  prove(arrived(out, weights), "a buffer, local memory, a number, a vector and a structure were passed");
  prove(arrived(second, nullptr), "and so were another buffer and a null pointer in the second launch");

  prove(zeKernelSetArgumentValue(kernel, 6, sizeof first, &first) == ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX,
        "there is no seventh argument");

  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  for (void* memory : {static_cast<void*>(out), static_cast<void*>(second), static_cast<void*>(weights)})
    CHECK(zeMemFree(s.context, memory));
  CHECK(zeKernelDestroy(kernel));
  CHECK(zeModuleDestroy(module));
}
