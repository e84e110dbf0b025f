// A program that starts its own Python: after the driver, or before ("first"). argv: mode, module, libpython.
#include <dlfcn.h>

#include "host.h"

static void* lib;
#define PYTHON(type, name) ((type)dlsym(lib, #name))

static void start_python(const char* library) {
  lib = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
  if (!lib) fprintf(stderr, "%s\n", dlerror()), exit(2);
  PYTHON(void (*)(int), Py_InitializeEx)(0);
}

static bool run_python(const char* text) { return PYTHON(int (*)(const char*), PyRun_SimpleString)(text) == 0; }

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const bool first = !strcmp(argv[1], "first");
  if (first) start_python(argv[3]);
  setup_t s = set_up();
  ze_module_handle_t module = load_anew(s, argv[2]);
  prove(saxpy_works(s, make_kernel(module, "saxpy")), "the kernel ran");
  if (!first) start_python(argv[3]);
  prove(run_python("import json, signal; assert json.loads('[1]') == [1]"), "our own Python works");
  printf("planning processes: %d\n", planning_processes(NULL));
  prove(make_kernel(module, "triad") != NULL, "another kernel of the module");
  prove(build_and_run(s, argv[2]), "another module, while we hold Python's lock");
  printf("planning processes: %d\n", planning_processes(NULL));
  PYTHON(int (*)(void), Py_FinalizeEx)();
  prove(saxpy_works(s, make_kernel(module, "saxpy")), "a known kernel after our Python has gone");
  if (!first) prove(build_and_run(s, argv[2]), "and a new module");
  return 0;
}
