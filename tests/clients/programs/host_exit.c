// Ways to end, named by the first argument. The planning process must end too, and nothing may hang.
#include <dlfcn.h>
#include <pthread.h>

#include "host.h"

static setup_t s;
static const char* path;
static ze_module_handle_t module;
static ze_kernel_handle_t kernel;

static void destroy_late(void) {
  CHECK(zeKernelDestroy(kernel));
  CHECK(zeModuleDestroy(module));
  prove(true, "destroyed in an exit handler");
}

static void build_late(void) { prove(build_and_run(s, path), "built in an exit handler"); }

static int built;

static void* leave(void* unused) {
  (void)unused;
  while (!__atomic_load_n(&built, __ATOMIC_ACQUIRE)) sched_yield();
  exit(0);  // while the main thread builds the next one
}

static void say(int number) {
  (void)number;
  if (write(1, "interrupted\n", 12) != 12) _exit(1);
}

static void leave_from_callback(void* unused) {
  (void)unused;
  exit(0);
}

static int through_dlopen(const char* library) {
  for (int round = 0; round < 3; ++round) {
    void* lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!lib) return fprintf(stderr, "%s\n", dlerror()), 1;
    ze_result_t (*init)(ze_init_flags_t) = (ze_result_t (*)(ze_init_flags_t))dlsym(lib, "zeInit");
    prove(init(0) == ZE_RESULT_SUCCESS, "zeInit of round %d", round);
    dlclose(lib);
  }
  prove(planning_processes(NULL) == 1, "one planning process for all rounds");
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* way = argv[1];
  path = argv[2];
  if (!strcmp(way, "dlclose")) return through_dlopen(argv[2]);
  if (!strcmp(way, "executed")) {
    for (int i = 0; i < 20000 && planning_processes(NULL); ++i) usleep(10000);
    prove(planning_processes(NULL) == 0 && open_descriptors() == 3, "nothing is left of who we were before");
  }
  if (!strcmp(way, "wait")) {
    struct sigaction action = {.sa_handler = say, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
  }
  s = set_up();
  module = load_anew(s, path);
  kernel = make_kernel(module, "saxpy");
  prove(saxpy_works(s, kernel), "the kernel ran");
  prove(planning_processes(NULL) == 1, "there is a planning process");
  if (!strcmp(way, "wait")) {
    char byte;
    while (read(0, &byte, 1) > 0) continue;
    prove(build_and_run(s, path), "built again");
  }
  if (!strcmp(way, "execute")) execl("/proc/self/exe", argv[0], "executed", path, NULL);
  if (!strcmp(way, "destroy")) atexit(destroy_late);
  if (!strcmp(way, "build")) atexit(build_late);
  if (!strcmp(way, "killed")) kill(getpid(), SIGKILL);
  if (!strcmp(way, "aborted")) signal(SIGABRT, SIG_DFL), abort();
  if (!strcmp(way, "thread")) {
    pthread_t thread;
    pthread_create(&thread, NULL, leave, NULL);
    for (;; __atomic_store_n(&built, 1, __ATOMIC_RELEASE)) build_and_run(s, path);
  }
  if (!strcmp(way, "callback")) {
    ze_result_t (*append)(ze_command_list_handle_t, void (*)(void*), void*, const void*, ze_event_handle_t, uint32_t,
                          ze_event_handle_t*);
    void* found = NULL;
    CHECK(zeDriverGetExtensionFunctionAddress(s.driver, "zeCommandListAppendHostFunction", &found));
    append = (ze_result_t (*)(ze_command_list_handle_t, void (*)(void*), void*, const void*, ze_event_handle_t, uint32_t,
                              ze_event_handle_t*))found;
    ze_command_list_handle_t list = make_immediate(s, 0, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    CHECK(append(list, leave_from_callback, NULL, NULL, NULL, 0, NULL));
    for (;;) build_and_run(s, path);
  }
  return 0;
}
