// A C program or extension module around the driver: spins with the GIL held, calls from threads that
// Python does not know, and destroys everything after the interpreter has ended.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef uint32_t (*one_fn)(void*);
typedef uint32_t (*wait_fn)(void*, uint64_t);
typedef uint32_t (*copy_fn)(void*, void*, const void*, size_t, void*, uint32_t, void**);
typedef uint32_t (*execute_fn)(void*, uint32_t, void**, void*);
typedef uint32_t (*two_fn)(void*, void*);

static void* driver;

static void* find(const char* name) {
  void* function = dlsym(driver, name);
  if (!function) {
    fprintf(stderr, "no %s\n", name);
    abort();
  }
  return function;
}

int open_driver(const char* path) {
  driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return driver != NULL;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static atomic_int spinning;

// Whether a thread of this process runs; the one with the number `but` is not looked at.
static int runs(int but) {
  int found = 0;
  DIR* tasks = opendir("/proc/self/task");
  for (struct dirent* entry; (entry = readdir(tasks));) {
    int thread = atoi(entry->d_name);
    if (!thread || thread == but) continue;
    char path[64], state = 'S';
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    FILE* file = fopen(path, "r");
    if (!file) continue;  // it has ended
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 'S';
    fclose(file);
    found |= state != 'S';
  }
  closedir(tasks);
  return found;
}

// Returns when all other threads sleep at two looks: those that were woken have done what they will do.
static void await_sleep_of_others(void) {
  for (int quiet = 0; quiet < 2; usleep(2000)) quiet = runs(gettid()) ? 0 : quiet + 1;
}

// Called through ctypes.PyDLL: holds the GIL until the others are done. The time only makes a failure of a hang. Returns which was first.
int spin(double seconds, atomic_int* done, int wanted) {
  double end = now() + seconds;
  atomic_store(&spinning, 1);
  while (now() < end)
    if (atomic_load(done) >= wanted) return 1;
  return 0;
}

struct work {
  void* list;   // immediate
  void* event;  // signalled by the last copy
  void* queue;
  void* recorded;
  void* fence;
  char* to;
  char* from;
  size_t size;
  int times;
  atomic_int* done;
  atomic_int* failed;
};

static void* submit_and_wait(void* argument) {
  struct work* w = argument;
  copy_fn copy = (copy_fn)find("zeCommandListAppendMemoryCopy");
  wait_fn wait = (wait_fn)find("zeEventHostSynchronize");
  wait_fn list_wait = (wait_fn)find("zeCommandListHostSynchronize");
  wait_fn fence_wait = (wait_fn)find("zeFenceHostSynchronize");
  one_fn reset = (one_fn)find("zeEventHostReset");
  one_fn fence_reset = (one_fn)find("zeFenceReset");
  execute_fn execute = (execute_fn)find("zeCommandQueueExecuteCommandLists");
  while (!atomic_load(&spinning)) usleep(1000);
  for (int i = 0; i < w->times; ++i) {
    uint32_t bad = copy(w->list, w->to, w->from, w->size, w->event, 0, NULL);
    bad |= wait(w->event, UINT64_MAX);
    bad |= reset(w->event);
    bad |= list_wait(w->list, UINT64_MAX);
    bad |= execute(w->queue, 1, &w->recorded, w->fence);
    bad |= fence_wait(w->fence, UINT64_MAX);
    bad |= fence_reset(w->fence);
    if (bad) atomic_fetch_add(w->failed, 1);
  }
  atomic_fetch_add(w->done, 1);
  return NULL;
}

int start_worker(struct work* work) {
  pthread_t thread;
  return pthread_create(&thread, NULL, submit_and_wait, work) == 0 && pthread_detach(thread) == 0;
}

// Waits for an event on a detached thread.
struct waiting {
  void* event;
  atomic_int* woken;
};

static void* wait_for_event(void* argument) {
  struct waiting* w = argument;
  ((wait_fn)find("zeEventHostSynchronize"))(w->event, UINT64_MAX);
  if (w->woken) atomic_fetch_add(w->woken, 1);
  return NULL;
}

int start_waiter(struct waiting* waiting) {
  pthread_t thread;
  return pthread_create(&thread, NULL, wait_for_event, waiting) == 0 && pthread_detach(thread) == 0;
}

// Objects to destroy at process exit: pairs of a function's name and a handle.
struct entry {
  char name[48];
  void* context;  // for functions that take one first
  void* handle;
};
static struct entry entries[256];
static int count;
static struct work last;

void destroy_at_exit(const char* name, void* context, void* handle) {
  snprintf(entries[count].name, sizeof entries[count].name, "%s", name);
  entries[count].context = context;
  entries[count++].handle = handle;
}

static void at_exit(void) {
  int (*initialized)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsInitialized");
  printf("python %s\n", initialized && initialized() ? "runs" : "is gone");
  if (last.list) {
    atomic_int done = 0, failed = 0;
    last.done = &done;
    last.failed = &failed;
    submit_and_wait(&last);
    printf("worked %d failed %d\n", atomic_load(&done), atomic_load(&failed));
  }
  int bad = 0;
  for (int i = 0; i < count; ++i) {
    void* function = find(entries[i].name);
    uint32_t result = entries[i].context ? ((two_fn)function)(entries[i].context, entries[i].handle)
                                         : ((one_fn)function)(entries[i].handle);
    if (result) printf("%s: %#x\n", entries[i].name, result);
    bad += result != 0;
  }
  printf("destroyed %d bad %d\n", count, bad);
  fflush(stdout);
}

// Registered before the interpreter's own handlers, or after: either way it runs when Py_Finalize is over.
void register_exit(const struct work* work) {
  if (work) last = *work;
  atomic_store(&spinning, 1);
  atexit(at_exit);
}

static void* event_to_signal;
static void signal_at_exit_now(void) {
  ((one_fn)find("zeEventHostSignal"))(event_to_signal);
  await_sleep_of_others();  // a thread that is wrongly let into Python fails meanwhile
}
void signal_at_exit(void* event) {
  event_to_signal = event;
  atexit(signal_at_exit_now);
}

// A host function that does not return.
void sleep_for_ever(void* unused) {
  (void)unused;
  for (;;) pause();
}

static void* signal_sleepers(void* event) {
  await_sleep_of_others();
  ((one_fn)find("zeEventHostSignal"))(event);
  return NULL;
}
// From a thread of its own, once all others sleep in their waits.
int signal_asleep(void* event) {
  pthread_t thread;
  return pthread_create(&thread, NULL, signal_sleepers, event) == 0 && pthread_detach(thread) == 0;
}

static void* signal_ending(void* event) {
  int (*finalizing)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
  if (!finalizing) finalizing = (int (*)(void))dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");  // before 3.13
  if (!finalizing) abort();
  while (!finalizing()) usleep(100);
  ((one_fn)find("zeEventHostSignal"))(event);
  return NULL;
}
// From a thread of its own, once the interpreter has begun to end.
int signal_finalizing(void* event) {
  pthread_t thread;
  return pthread_create(&thread, NULL, signal_ending, event) == 0 && pthread_detach(thread) == 0;
}

// A program's own handler that came after the driver's and passes on what it does not know, as runtimes do.
#include <signal.h>
static struct sigaction before_ours;
static void chaining_handler(int number, siginfo_t* info, void* context) {
  if (before_ours.sa_flags & SA_SIGINFO) before_ours.sa_sigaction(number, info, context);
}
void install_chaining_handler(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = chaining_handler;
  action.sa_flags = SA_SIGINFO;
  sigfillset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &before_ours);
}
