// Watches its own calls through the tracing layer, as profilers do.
#include <level_zero/layers/zel_tracing_api.h>

#include "check.h"

static int entered, left;

static void on_enter(ze_mem_alloc_host_params_t* parameters, ze_result_t result, void* user, void** instance) {
  (void)result, (void)instance;
  prove(*parameters->psize == 4096 && *(int*)user == 42, "the tracer sees an allocation of %zu bytes coming", *parameters->psize);
  ++entered;
}

static void on_leave(ze_mem_alloc_host_params_t* parameters, ze_result_t result, void* user, void** instance) {
  (void)user, (void)instance;
  prove(result == ZE_RESULT_SUCCESS && **parameters->ppptr, "and sees where it is");
  ++left;
}

int main(void) {
  setup_t s = set_up();
  int mark = 42;
  zel_tracer_desc_t desc = {.stype = ZEL_STRUCTURE_TYPE_TRACER_EXP_DESC, .pUserData = &mark};
  zel_tracer_handle_t tracer = NULL;
  CHECK(zelTracerCreate(&desc, &tracer));
  zel_core_callbacks_t before = {0}, after = {0};
  before.Mem.pfnAllocHostCb = on_enter;
  after.Mem.pfnAllocHostCb = on_leave;
  CHECK(zelTracerSetPrologues(tracer, &before));
  CHECK(zelTracerSetEpilogues(tracer, &after));
  CHECK(zeMemFree(s.context, host_memory(s, 4096)));
  prove(entered == 0, "nothing is traced before the tracer is enabled");
  CHECK(zelTracerSetEnabled(tracer, true));
  CHECK(zeMemFree(s.context, host_memory(s, 4096)));
  CHECK(zelTracerSetEnabled(tracer, false));
  CHECK(zeMemFree(s.context, host_memory(s, 4096)));
  prove(entered == 1 && left == 1, "one call was traced");
  CHECK(zelTracerDestroy(tracer));
  CHECK(zeContextDestroy(s.context));
}
