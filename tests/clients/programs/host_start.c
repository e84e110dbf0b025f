// Times of the steps until the first kernel has run.
#include "host.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  double t[6] = {milliseconds()};
  setup_t s = set_up();
  t[1] = milliseconds();
  ze_module_handle_t module = load_anew(s, argv[1]);
  t[2] = milliseconds();
  ze_kernel_handle_t kernel = make_kernel(module, "saxpy");
  t[3] = milliseconds();
  bool good = saxpy_works(s, kernel);
  t[4] = milliseconds();
  printf("%.1f ms: init %.1f, module %.1f, kernel %.1f, launch %.1f\n", t[4] - t[0], t[1] - t[0], t[2] - t[1], t[3] - t[2],
         t[4] - t[3]);
  prove(good, "the kernel ran");
  return 0;
}
