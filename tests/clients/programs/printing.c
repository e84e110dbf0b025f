// A kernel's printf writes to the program's standard output, in order with the program's own output.
// printing FILE, which has a kernel "numbers" that prints one line for each of its items
#include "check.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  setup_t s = set_up();
  ze_kernel_handle_t kernel = make_kernel(load_module(s, argv[1]), "numbers");
  int32_t* values = host_memory(s, 4 * sizeof *values);
  for (int i = 0; i < 4; ++i) values[i] = 100 * i;
  ARGUMENT(kernel, 0, values);
  CHECK(zeKernelSetGroupSize(kernel, 4, 1, 1));
  ze_group_count_t one = {1, 1, 1};
  ze_command_queue_handle_t queue = make_queue(s, 0);
  ze_command_list_handle_t list = make_list(s, 0);
  CHECK(zeCommandListAppendLaunchKernel(list, kernel, &one, NULL, 0, NULL));
  prove(true, "before");
  run_list(queue, list);
  prove(true, "after");
}
