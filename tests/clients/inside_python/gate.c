// For a Python host: runs a program's `main` on the calling thread while another thread holds the GIL, and wraps
// the functions that may need Python, so that the GIL is released only for them.
#include <dlfcn.h>
#include <level_zero/ze_api.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum reason { TIMED_OUT, ASKED, FINISHED };

atomic_int finished;
atomic_int asked;            // number of entries to functions that may need Python
static atomic_bool started;  // the program is no longer in Python's hands
static atomic_bool held;     // a thread should hold the GIL
static atomic_bool sitting;  // it holds the GIL, and no call has requested it since
static atomic_int asking;    // threads inside a function that may need Python
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void enter(void) {
  pthread_mutex_lock(&mutex);
  ++asked;
  ++asking;
  sitting = false;
  pthread_mutex_unlock(&mutex);
}

// The program's next calls must run while the GIL is held, so it waits until it is held again.
static void leave(void) {
  --asking;
  while (held && !sitting) sched_yield();
}

#define GATED(name, parameters, ...)                       \
  ze_result_t name parameters {                            \
    ze_result_t(*next) parameters;                         \
    *(void**)&next = dlsym(RTLD_NEXT, #name);              \
    if (!next) return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE; \
    enter();                                               \
    ze_result_t result = next(__VA_ARGS__);                \
    leave();                                               \
    return result;                                         \
  }

GATED(zeInit, (ze_init_flags_t flags), flags)
GATED(zeInitDrivers, (uint32_t* count, ze_driver_handle_t* drivers, ze_init_driver_type_desc_t* desc), count, drivers, desc)
GATED(zeModuleCreate,
      (ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t* desc, ze_module_handle_t* module,
       ze_module_build_log_handle_t* log),
      context, device, desc, module, log)
GATED(zeKernelCreate, (ze_module_handle_t module, const ze_kernel_desc_t* desc, ze_kernel_handle_t* kernel), module, desc, kernel)

// `to_be_held`: whether a thread is going to hold the GIL.
void begin(int to_be_held) {
  asked = 0;
  finished = 0;
  started = sitting = false;
  held = to_be_held;
}

// Called without the lock. The program is loaded here, too, because a library may start the driver when it is loaded.
int run(const char* path, int argc, char** argv) {
  int status = 1;
  started = true;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  int (*entry)(int, char**) = NULL;
  if (library) *(void**)&entry = dlsym(library, "main");
  if (entry)
    status = entry(argc, argv);
  else
    fprintf(stderr, "%s\n", dlerror());
  held = false;
  finished = 1;
  return status;
}

// Called with the GIL, and does not release it. Returns when it should be released, unless `deaf`.
int hold(int milliseconds, int deaf) {
  double end = now() + milliseconds / 1e3;
  pthread_mutex_lock(&mutex);
  if (asking == 0) sitting = true;
  pthread_mutex_unlock(&mutex);
  for (;;) {
    if (finished) return FINISHED;
    if (deaf)
      sitting = true;  // also when it was requested
    else if (!sitting)
      return ASKED;
    if (now() > end) return TIMED_OUT;
  }
}

// Called without the GIL. Returns whether the program has started and all requests were answered.
int let_go(int milliseconds) {
  double end = now() + milliseconds / 1e3;
  while (!started || asking) {
    if (now() > end) return false;
    sched_yield();
  }
  return true;
}
