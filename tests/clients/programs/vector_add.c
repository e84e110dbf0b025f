// Vector addition by a kernel from a .spv file, through device memory.
// vector_add FILE KERNEL, where the kernel computes a[i] = b[i] + s * c[i]
#include "check.h"

enum { COUNT = 1 << 16 };

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  setup_t s = set_up();
  ze_module_handle_t module = load_module(s, argv[1]);
  ze_kernel_handle_t kernel = make_kernel(module, argv[2]);
  size_t bytes = COUNT * sizeof(float);
  float *sum = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes), one = 1;
  for (int i = 0; i < COUNT; ++i) b[i] = (float)i, c[i] = (float)(3 * i + 1);
  void* on_device[3];
  for (uint32_t i = 0; i < 3; ++i) {
    on_device[i] = device_memory(s, bytes);
    ARGUMENT(kernel, i, on_device[i]);
  }
  ARGUMENT(kernel, 3, one);
  uint32_t x = 0, y = 0, z = 0;
  CHECK(zeKernelSuggestGroupSize(kernel, COUNT, 1, 1, &x, &y, &z));
  CHECK(zeKernelSetGroupSize(kernel, x, y, z));

  ze_command_queue_handle_t queue = make_queue(s, 0);
  ze_command_list_handle_t list = make_list(s, 0);
  CHECK(zeCommandListAppendMemoryCopy(list, on_device[1], b, bytes, NULL, 0, NULL));
  CHECK(zeCommandListAppendMemoryCopy(list, on_device[2], c, bytes, NULL, 0, NULL));
  CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
  ze_group_count_t groups = {COUNT / x, 1, 1};
  CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
  CHECK(zeCommandListAppendBarrier(list, NULL, 0, NULL));
  CHECK(zeCommandListAppendMemoryCopy(list, sum, on_device[0], bytes, NULL, 0, NULL));
  run_list(queue, list);
  int wrong = 0;
  for (int i = 0; i < COUNT; ++i) wrong += sum[i] != b[i] + c[i];
  prove(wrong == 0, "%d sums in groups of %u, %d of them wrong", COUNT, x, wrong);

  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  for (int i = 0; i < 3; ++i) CHECK(zeMemFree(s.context, on_device[i]));
  CHECK(zeKernelDestroy(kernel));
  CHECK(zeModuleDestroy(module));
  CHECK(zeContextDestroy(s.context));
  free(sum), free(b), free(c);
}
