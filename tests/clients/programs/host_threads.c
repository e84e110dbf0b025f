// Many threads build modules and kernels at once, from the first call on.
#include <pthread.h>

#include "host.h"

enum { THREADS = 8, ROUNDS = 3 };
static const char* path;
static int good[THREADS];
static pthread_barrier_t together;
static int loaded;

static void* work(void* argument) {
  int mine = (int)(intptr_t)argument;
  pthread_barrier_wait(&together);
  setup_t s = set_up();
  for (int i = 0; i < ROUNDS; ++i) good[mine] += build_and_run(s, path);
  return NULL;
}

static void* endless(void* unused) {
  (void)unused;
  for (setup_t s = set_up();; __atomic_add_fetch(&loaded, 1, __ATOMIC_RELEASE)) CHECK(zeModuleDestroy(load_anew(s, path)));
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  path = argv[1];
  pthread_t threads[THREADS];
  pthread_barrier_init(&together, NULL, THREADS);
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, (void*)(intptr_t)i);
  int all = 0;
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
    all += good[i];
  }
  prove(all == THREADS * ROUNDS, "%d modules were built and run by %d threads", all, THREADS);
  prove(planning_processes(NULL) == 1, "by one planning process");
  int cancelled = 0;
  for (int i = 0; i < 10; ++i) {
    void* result = NULL;
    __atomic_store_n(&loaded, 0, __ATOMIC_RELAXED);
    pthread_create(&threads[0], NULL, endless, NULL);
    while (__atomic_load_n(&loaded, __ATOMIC_ACQUIRE) < i % 3) sched_yield();
    pthread_cancel(threads[0]);
    pthread_join(threads[0], &result);
    cancelled += result == PTHREAD_CANCELED;
  }
  prove(cancelled == 10 && build_and_run(set_up(), path) && planning_processes(NULL) == 1, "threads may be cancelled");
  return 0;
}
