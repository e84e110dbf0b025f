// A program that forks, with and without exec; each process has its own planning process, which ends with it.
#include <pthread.h>

#include "host.h"

static setup_t s;
static const char* path;
static volatile bool stop;

static void* builder(void* unused) {
  (void)unused;
  while (!stop) build_and_run(s, path);
  return NULL;
}

static int child_of(void (*work)(void*), void* argument) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(200);  // only a child that hangs takes that long
    work(argument);
    fflush(NULL);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

static void in_child(void* kernel) {
  prove(saxpy_works(s, (ze_kernel_handle_t)kernel), "in the child, an inherited kernel runs");
  prove(open_descriptors() <= 5, "without the line of the parent");
  prove(build_and_run(s, path), "a new module works");
  prove(planning_processes(NULL) == 2, "with a planning process of its own");
}

static void with_module(void* module) {
  ze_kernel_handle_t kernel = make_kernel((ze_module_handle_t)module, "saxpy");
  prove(saxpy_works(s, kernel), "in the child, an inherited module makes kernels");
}

static void build_once(void* unused) {
  (void)unused;
  if (!build_and_run(s, path)) _exit(3);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  path = argv[1];
  s = set_up();
  ze_module_handle_t module = load_anew(s, path);
  ze_kernel_handle_t kernel = make_kernel(module, "saxpy");
  prove(child_of(in_child, kernel) == 0, "the child is fine");
  prove(child_of(with_module, module) == 0, "so is another");
  for (int i = 0; i < 20000 && planning_processes(NULL) > 1; ++i) usleep(10000);
  prove(planning_processes(NULL) == 1, "their planning processes have gone with them");
  prove(saxpy_works(s, kernel) && build_and_run(s, path), "the parent goes on");

  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, builder, NULL);
  int bad = 0;
  for (int i = 0; i < 4; ++i) bad += child_of(build_once, NULL) != 0;
  stop = true;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  prove(bad == 0, "children of a process whose threads build modules build them too");

  // It lives on when we are gone, and must not keep our planning process.
  pid_t sleeper = fork();
  if (sleeper == 0) {
    for (int i = 0; i < 3; ++i) close(i);
    execlp("sleep", "sleep", "30", NULL);
    _exit(1);
  }
  return 0;
}
