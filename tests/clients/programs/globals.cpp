// Objects at namespace scope: the driver is started before main, and everything is destroyed after it.
// globals FILE, which has a kernel "triad" that computes a[i] = b[i] + s * c[i]
#include <unistd.h>

#include "check.h"

namespace {

struct Session {
  setup_t s = set_up();
  ze_command_list_handle_t list = make_immediate(s, 0, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  ze_event_pool_handle_t pool = make_pool(s, 1, 0);
  ze_event_handle_t done = make_event(pool, 0);
  float* values = static_cast<float*>(host_memory(s, 64 * sizeof(float)));
  ze_module_handle_t module = nullptr;
  ze_kernel_handle_t kernel = nullptr;

  Session() { prove(true, "the driver was started before main"); }

  void launch(float scale) const {
    ARGUMENT(kernel, 3, scale);
    ze_group_count_t one = {1, 1, 1};
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &one, done, 0, nullptr));
    CHECK(zeEventHostSynchronize(done, FOREVER));
    CHECK(zeEventHostReset(done));
  }

  // A loader may be torn down by now, and then returns an error. It must not crash or hang.
  ~Session() {
    ze_result_t result = zeEventDestroy(done);
    if (result == ZE_RESULT_SUCCESS) {
      launch_after_main();
      CHECK(zeEventPoolDestroy(pool));
      CHECK(zeKernelDestroy(kernel));
      CHECK(zeModuleDestroy(module));
      CHECK(zeCommandListDestroy(list));
      CHECK(zeMemFree(s.context, values));
      CHECK(zeContextDestroy(s.context));
    } else if (result != ZE_RESULT_ERROR_UNINITIALIZED) {
      printf("FAILED: zeEventDestroy after main returned %#x\n", static_cast<unsigned>(result));
      fflush(stdout);
      _exit(1);
    }
    prove(true, "everything was destroyed after main (%#x)", static_cast<unsigned>(result));
  }

  void launch_after_main() {
    done = make_event(pool, 0);
    launch(4);
    if (values[0] != 25) _exit(1);
    CHECK(zeEventDestroy(done));
    prove(true, "a kernel ran after main");
  }
};

Session session;

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  session.module = load_module(session.s, argv[1]);
  session.kernel = make_kernel(session.module, "triad");
  CHECK(zeKernelSetGroupSize(session.kernel, 64, 1, 1));
  for (uint32_t i = 0; i < 3; ++i) ARGUMENT(session.kernel, i, session.values);
  for (int i = 0; i < 64; ++i) session.values[i] = 1;
  session.launch(4);
  prove(session.values[0] == 5, "a kernel ran");
}
