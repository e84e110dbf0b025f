// Program-scope variables, which the host reads and writes like other device memory.
#include <cstring>

#include "kernels.h"

int main() {
  Setup s;
  ze_module_handle_t module = make_module(s, "module_variables");
  ze_kernel_handle_t look_up = make_kernel(module, "look_up");

  size_t size = 0;
  void *table = nullptr, *launches = nullptr;
  CHECK(zeModuleGetGlobalPointer(module, "table", &size, &table));
  prove(size == 4 * sizeof(float), "the table is %zu bytes of device memory", size);
  CHECK(zeModuleGetGlobalPointer(module, "launches", &size, &launches));

  ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
  ze_command_list_handle_t list = nullptr;
  CHECK(zeCommandListCreateImmediate(s.context, s.device, &desc, &list));
  auto copy = [&](void* to, const void* from, size_t bytes) {
    CHECK(zeCommandListAppendMemoryCopy(list, to, from, bytes, nullptr, 0, nullptr));
  };
  float values[8], seen[4];
  copy(seen, table, sizeof seen);
  prove(seen[0] == 1 && seen[1] == 10 && seen[2] == 100 && seen[3] == 1000, "the table has the values of the source");

  float* memory = s.host<float>(8);
  for (int i = 0; i < 8; ++i) memory[i] = 2;
  run_kernel(s, look_up, 8, 8, memory);
  prove(memory[1] == 20 && memory[7] == 2000, "and the kernel uses them");

  const float other[] = {1, 2, 3, 4};
  copy(table, other, sizeof other);
  for (int i = 0; i < 8; ++i) memory[i] = 1;
  run_kernel(s, look_up, 8, 8, memory);
  std::memcpy(values, memory, sizeof values);
  prove(values[1] == 2 && values[7] == 4, "the kernel reads the host's values");

  int32_t count = 0;
  copy(&count, launches, sizeof count);
  prove(count == 2, "and the host reads the kernel's: %d launches", count);

  void* none = nullptr;
  prove(zeModuleGetGlobalPointer(module, "absent", &size, &none) == ZE_RESULT_ERROR_INVALID_GLOBAL_NAME,
        "an unknown variable has its own error code");

  CHECK(zeCommandListDestroy(list));
  CHECK(zeMemFree(s.context, memory));
  CHECK(zeKernelDestroy(look_up));
  CHECK(zeModuleDestroy(module));
}
