// The planning process is killed at bad times; or its line is closed by a program that closes everything it does not know. argv:
// saxpy, a module with a kernel "main" that needs another, that other.
#include <pthread.h>

#include "host.h"

static volatile bool stop;

static void* killer(void* unused) {
  (void)unused;
  while (!stop) {
    pid_t planner = 0;
    if (planning_processes(&planner)) kill(planner, SIGKILL);
    usleep(1000);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  setup_t s = set_up();
  ze_module_handle_t old = load_anew(s, argv[1]);
  ze_module_handle_t other = load_anew(s, argv[1]), gone = load_anew(s, argv[1]);
  CHECK(zeModuleDestroy(gone));
  ze_module_handle_t linked[] = {load_anew(s, argv[2]), load_anew(s, argv[3])};
  CHECK(zeModuleDynamicLink(2, linked, NULL));
  pid_t first = 0, second = 0;
  prove(planning_processes(&first) == 1, "a planning process");
  kill(first, SIGKILL);
  while (planning_processes(NULL)) usleep(1000);  // what is killed in the middle of a call is looked at below
  ze_kernel_handle_t kernel = make_kernel(old, "saxpy");
  prove(saxpy_works(s, kernel), "a module outlives the process that built it");
  prove(planning_processes(&second) == 1 && second != first, "by another planning process");
  prove(make_kernel(linked[0], "main") != NULL, "which also knows what was linked");

  // One descriptor is the line; a daemon would do the same.
  if (close_range(3, ~0U, 0)) return 2;
  int mine = open("/dev/null", O_WRONLY);
  prove(mine == 3, "the line's number is a file of ours now");
  prove(build_and_run(s, argv[1]), "the driver does not take it for its line");
  prove(saxpy_works(s, make_kernel(other, "saxpy")), "and modules are still known");

  pthread_t thread;
  if (pthread_create(&thread, NULL, killer, NULL)) return 2;
  ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_IL_SPIRV};
  static uint8_t code[1 << 20];
  FILE* file = fopen(argv[1], "rb");
  desc.inputSize = fread(code, 1, sizeof code, file);
  desc.pInputModule = code;
  fclose(file);
  ze_module_handle_t module = NULL;
  ze_result_t result = ZE_RESULT_SUCCESS;
  for (int i = 0; i < 20 && result == ZE_RESULT_SUCCESS; ++i) {
    desc.pBuildFlags = other_flags();
    result = zeModuleCreate(s.context, s.device, &desc, &module, NULL);
  }
  prove(result == ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, "a call whose planner is killed fails");
  prove(strstr(last_error(s), "ended") || strstr(last_error(s), "line"), "and says so: %s", last_error(s));
  stop = true;
  pthread_join(thread, NULL);
  prove(build_and_run(s, argv[1]), "the next call works");
  CHECK(zeKernelDestroy(kernel));
  CHECK(zeModuleDestroy(old));
  return 0;
}
