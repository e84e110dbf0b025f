// The planning process is stopped: calls are sent to another one, and the first is killed. argv: saxpy.
#include "host.h"

enum { MUCH = 4 << 20 };

static pid_t stopped(void) {
  pid_t planner = 0;
  prove(planning_processes(&planner) == 1, "a planning process");
  kill(planner, SIGSTOP);
  return planner;
}

static void is_replaced(pid_t first) {
  pid_t second = 0;
  prove(planning_processes(&second) == 1 && second != first, "it was ended, and another one answered");
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  setup_t s = set_up();
  ze_module_handle_t old = load_anew(s, argv[1]);
  pid_t first = stopped();
  prove(build_and_run(s, argv[1]), "a module is built although the process is stopped");
  is_replaced(first);
  first = stopped();
  prove(saxpy_works(s, make_kernel(old, "saxpy")), "a kernel is created although the process is stopped");
  is_replaced(first);

  // More than the socket buffers.
  static uint8_t code[1 << 20];
  FILE* file = fopen(argv[1], "rb");
  char* flags = (char*)malloc(MUCH + 1);
  memset(flags, 'x', MUCH);
  flags[MUCH] = '\0';
  ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                           .format = ZE_MODULE_FORMAT_IL_SPIRV,
                           .inputSize = fread(code, 1, sizeof code, file),
                           .pInputModule = code,
                           .pBuildFlags = flags};
  fclose(file);
  first = stopped();
  ze_module_handle_t module = NULL;
  CHECK(zeModuleCreate(s.context, s.device, &desc, &module, NULL));
  is_replaced(first);
  CHECK(zeModuleDestroy(module));
  CHECK(zeModuleDestroy(old));
  free(flags);
  return 0;
}
