// Tracers and the switch of the tracing layer: threads, changed arguments, calls inside of callbacks, tracers that come and go.
// clang-format off: ze_loader.h of the upstream loader does not include stdbool.h, as check.h does.
#include "check.h"
#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>
#include <level_zero/loader/ze_loader.h>
// clang-format on
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, CALLS = 200, ROUNDS = 40, ALIVE = 0x5eed, DEAD = 0xdead };

typedef struct {
  atomic_int before, after, state, wrong;
} counts_t;

static setup_t s;

static zel_tracer_handle_t new_tracer(void* user) {
  zel_tracer_desc_t desc = {.stype = ZEL_STRUCTURE_TYPE_TRACER_DESC, .pUserData = user};
  zel_tracer_handle_t tracer = NULL;
  CHECK(zelTracerCreate(&desc, &tracer));
  return tracer;
}

static void end_tracer(zel_tracer_handle_t tracer) {
  CHECK(zelTracerSetEnabled(tracer, false));
  CHECK(zelTracerDestroy(tracer));
}

static void before_version(ze_driver_get_api_version_params_t* p, ze_result_t result, void* user, void** instance) {
  counts_t* counts = user;
  if (counts->state != ALIVE || *p->phDriver != s.driver || result != ZE_RESULT_SUCCESS) ++counts->wrong;
  ++counts->before;
  *instance = p;
  // A call from a callback is not traced.
  ze_driver_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES};
  ze_api_version_t version;
  if (zeDriverGetProperties(s.driver, &properties) || zeDriverGetApiVersion(s.driver, &version)) ++counts->wrong;
}

static void after_version(ze_driver_get_api_version_params_t* p, ze_result_t result, void* user, void** instance) {
  counts_t* counts = user;
  if (counts->state != ALIVE || *instance != p || result != ZE_RESULT_SUCCESS || !**p->pversion) ++counts->wrong;
  ++counts->after;
}

static zel_tracer_handle_t version_tracer(counts_t* counts) {
  counts->state = ALIVE;
  zel_tracer_handle_t tracer = new_tracer(counts);
  zel_core_callbacks_t before = {0}, after = {0};
  before.Driver.pfnGetApiVersionCb = before_version;
  after.Driver.pfnGetApiVersionCb = after_version;
  CHECK(zelTracerSetPrologues(tracer, &before));
  CHECK(zelTracerSetEpilogues(tracer, &after));
  return tracer;
}

static void call_once(void) {
  ze_api_version_t version = 0;
  CHECK(zeDriverGetApiVersion(s.driver, &version));
}

static void the_switch(void) {
  bool on = true;
  CHECK(zelGetTracingLayerState(&on));
  prove(!on, "the layer is off");
  counts_t counts = {0};
  zel_tracer_handle_t tracer = version_tracer(&counts);
  CHECK(zelTracerSetEnabled(tracer, true));
  call_once();
  prove(counts.before == 0, "nothing is traced while the layer is off");
  CHECK(zelEnableTracingLayer());
  CHECK(zelEnableTracingLayer());
  CHECK(zelGetTracingLayerState(&on));
  prove(on, "the layer is on");
  call_once();
  CHECK(zelDisableTracingLayer());
  call_once();
  CHECK(zelDisableTracingLayer());
  call_once();
  prove(counts.before == 2 && counts.after == 2 && counts.wrong == 0, "it is on as long as somebody wants it");
  end_tracer(tracer);
}

static void twice_as_much(ze_mem_alloc_host_params_t* p, ze_result_t result, void* user, void** instance) {
  (void)result, (void)user, (void)instance;
  *p->psize *= 2;
}

static void arguments(void) {
  int user;
  zel_tracer_handle_t tracer = new_tracer(&user);
  CHECK(zelTracerMemAllocHostRegisterCallback(tracer, ZEL_REGISTER_PROLOGUE, twice_as_much));
  CHECK(zelTracerSetEnabled(tracer, true));
  void* memory = host_memory(s, 4096);
  end_tracer(tracer);
  size_t size = 0;
  CHECK(zeMemGetAddressRange(s.context, memory, NULL, &size));
  prove(size == 8192, "a prologue changes an argument");
  CHECK(zeMemFree(s.context, memory));
}

static int order[4], calls;

static void first(ze_context_create_params_t* p, ze_result_t result, void* user, void** instance) {
  (void)p, (void)result, (void)instance;
  order[calls++ & 3] = *(int*)user;
}

static void several(void) {
  int one = 1, two = 2;
  zel_tracer_handle_t tracers[2] = {new_tracer(&one), new_tracer(&two)};
  for (int i = 0; i < 2; ++i) {
    CHECK(zelTracerContextCreateRegisterCallback(tracers[i], ZEL_REGISTER_PROLOGUE, first));
    CHECK(zelTracerContextCreateRegisterCallback(tracers[i], ZEL_REGISTER_EPILOGUE, first));
    CHECK(zelTracerSetEnabled(tracers[i], true));
  }
  ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  ze_context_handle_t context;
  CHECK(zeContextCreate(s.driver, &desc, &context));
  CHECK(zeContextDestroy(context));
  prove(calls == 4 && order[0] == 1 && order[1] == 2 && order[2] == 1 && order[3] == 2, "two tracers are called in order");
  end_tracer(tracers[1]);
  end_tracer(tracers[0]);
}

static atomic_int finished;

static void* caller(void* nothing) {
  (void)nothing;
  for (int i = 0; i < CALLS || !finished; ++i) call_once();
  return NULL;
}

static void threads(void) {
  pthread_t running[THREADS];
  counts_t always = {0};
  zel_tracer_handle_t tracer = version_tracer(&always);
  CHECK(zelTracerSetEnabled(tracer, true));
  for (int i = 0; i < THREADS; ++i) pthread_create(&running[i], NULL, caller, NULL);
  int wrong = 0, uneven = 0;
  for (int i = 0; i < ROUNDS; ++i) {
    counts_t* counts = calloc(1, sizeof *counts);
    zel_tracer_handle_t fleeting = version_tracer(counts);
    CHECK(zelTracerSetEnabled(fleeting, true));
    while (i % 2 && !counts->before) call_once();
    end_tracer(fleeting);
    // After this nobody may call it.
    wrong += counts->wrong;
    uneven += counts->before != counts->after;
    counts->state = DEAD;
    free(counts);
  }
  finished = 1;
  for (int i = 0; i < THREADS; ++i) pthread_join(running[i], NULL);
  CHECK(zelTracerSetEnabled(tracer, false));
  prove(wrong == 0 && uneven == 0,
        "tracers that come and go while others call get both callbacks of each call, and none afterwards");
  prove(always.before >= THREADS * CALLS && always.before == always.after && always.wrong == 0, "no call of any thread is missed");
  CHECK(zelTracerDestroy(tracer));
}

int main(void) {
  s = set_up();
  the_switch();
  CHECK(zelEnableTracingLayer());
  arguments();
  several();
  threads();
  CHECK(zelDisableTracingLayer());
  CHECK(zeContextDestroy(s.context));
}
