// A kernel that goes astray costs its queue, not the program, and the program's own signal handlers still work.
// fault FILE, which has a kernel "triad" that computes a[i] = b[i] + s * c[i]
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "check.h"

static sigjmp_buf rescue;
static volatile sig_atomic_t rescued;

static void on_signal(int number) {
  ++rescued;
  siglongjmp(rescue, number);
}

// A program that handles its own faults, such as a virtual machine.
static void own_fault(const char* when) {
  volatile int* nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int before = rescued;
  if (sigsetjmp(rescue, 1) == 0) *nowhere = 1;
  prove(rescued == before + 1, "%s the program handles its own fault", when);
  munmap((void*)nowhere, 4096);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  signal(SIGSEGV, on_signal);
  own_fault("before the driver is started");
  setup_t s = set_up();
  own_fault("beside the driver");
  ze_module_handle_t module = load_module(s, argv[1]);
  ze_kernel_handle_t kernel = make_kernel(module, "triad");
  CHECK(zeKernelSetGroupSize(kernel, 64, 1, 1));
  float *good = host_memory(s, 64 * sizeof(float)), *bad = (float*)0x1000, scale = 1;
  ARGUMENT(kernel, 0, good);
  ARGUMENT(kernel, 1, bad);
  ARGUMENT(kernel, 2, good);
  ARGUMENT(kernel, 3, scale);
  ze_group_count_t one = {1, 1, 1};
  ze_command_queue_handle_t queue = make_queue(s, 0);
  ze_command_list_handle_t list = make_list(s, 0);
  CHECK(zeCommandListAppendLaunchKernel(list, kernel, &one, NULL, 0, NULL));
  CHECK(zeCommandListClose(list));
  ze_result_t result = zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL);
  if (result == ZE_RESULT_SUCCESS) result = zeCommandQueueSynchronize(queue, FOREVER);
  prove(result == ZE_RESULT_ERROR_DEVICE_LOST, "the queue of the kernel is lost (%#x)", (unsigned)result);
  own_fault("after the kernel's fault");

  // Another queue continues.
  ARGUMENT(kernel, 1, good);
  for (int i = 0; i < 64; ++i) good[i] = 2;
  ze_command_list_handle_t immediate = make_immediate(s, 0, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  CHECK(zeCommandListAppendLaunchKernel(immediate, kernel, &one, NULL, 0, NULL));
  prove(good[0] == 4 && good[63] == 4, "and another queue goes on");
  CHECK(zeCommandListDestroy(immediate));
  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  CHECK(zeKernelDestroy(kernel));
  CHECK(zeModuleDestroy(module));
  CHECK(zeMemFree(s.context, good));
  CHECK(zeContextDestroy(s.context));
}
