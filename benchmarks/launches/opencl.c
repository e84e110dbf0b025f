// Launches of an empty kernel through OpenCL, on the first device of the only platform. opencl LIBRARY FILE.cl
// The library is whatever loader the peers brought along, so the few functions are declared here and found by name.
#include <dlfcn.h>

#include "turns.h"

typedef struct platform* platform_t;
typedef struct device* device_t;
typedef struct context* context_t;
typedef struct queue* queue_t;
typedef struct program* program_t;
typedef struct kernel* kernel_t;
typedef struct event* event_t;

enum { PLATFORM_VERSION = 0x0901, DEVICE_NAME = 0x102B };
static const uint64_t ANY_DEVICE = 0xFFFFFFFF;

static int32_t (*get_platforms)(uint32_t, platform_t*, uint32_t*);
static int32_t (*get_platform_info)(platform_t, uint32_t, size_t, void*, size_t*);
static int32_t (*get_devices)(platform_t, uint64_t, uint32_t, device_t*, uint32_t*);
static int32_t (*get_device_info)(device_t, uint32_t, size_t, void*, size_t*);
static context_t (*create_context)(const intptr_t*, uint32_t, const device_t*, void (*)(const char*, const void*, size_t, void*),
                                   void*, int32_t*);
static queue_t (*create_queue)(context_t, device_t, uint64_t, int32_t*);
static program_t (*create_program)(context_t, uint32_t, const char**, const size_t*, int32_t*);
static int32_t (*build_program)(program_t, uint32_t, const device_t*, const char*, void (*)(program_t, void*), void*);
static kernel_t (*create_kernel)(program_t, const char*, int32_t*);
static int32_t (*enqueue)(queue_t, kernel_t, uint32_t, const size_t*, const size_t*, const size_t*, uint32_t, const event_t*,
                          event_t*);
static int32_t (*finish)(queue_t);

static kernel_t kernel;
static queue_t queue;

#define OK(call)                               \
  do {                                         \
    int32_t result_ = (call);                  \
    if (result_ != 0) give_up(#call, result_); \
  } while (0)

static void find_functions(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  const struct {
    void* to;
    const char* name;
  } wanted[] = {
      {&get_platforms, "clGetPlatformIDs"},
      {&get_platform_info, "clGetPlatformInfo"},
      {&get_devices, "clGetDeviceIDs"},
      {&get_device_info, "clGetDeviceInfo"},
      {&create_context, "clCreateContext"},
      {&create_queue, "clCreateCommandQueue"},
      {&build_program, "clBuildProgram"},
      {&create_program, "clCreateProgramWithSource"},
      {&create_kernel, "clCreateKernel"},
      {&enqueue, "clEnqueueNDRangeKernel"},
      {&finish, "clFinish"},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
    void* found = dlsym(library, wanted[i].name);
    if (!found) give_up(wanted[i].name, -1);
    memcpy(wanted[i].to, &found, sizeof found);
  }
}

static inline void launch_one(void) {
  static const size_t one = 1;
  OK(enqueue(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
}

static uint64_t launch(uint32_t calls) {
  uint64_t sum = 0;
  for (uint32_t done = 0; done < calls; done += BATCH) {
    uint64_t begin = now_ns();
    for (int i = 0; i < BATCH; ++i) launch_one();
    sum += now_ns() - begin;
    OK(finish(queue));
  }
  return sum;
}

static uint64_t launch_queued(uint32_t calls) {
  uint64_t begin = now_ns();
  for (uint32_t done = 0; done < calls; done += BATCH) {
    for (int i = 0; i < BATCH; ++i) launch_one();
    OK(finish(queue));
  }
  return now_ns() - begin;
}

static uint64_t launch_wait(uint32_t calls) {
  uint64_t begin = now_ns();
  for (uint32_t i = 0; i < calls; ++i) {
    launch_one();
    OK(finish(queue));
  }
  return now_ns() - begin;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  find_functions(argv[1]);
  platform_t platform = NULL;
  device_t device = NULL;
  int32_t result = 0;
  OK(get_platforms(1, &platform, NULL));
  OK(get_devices(platform, ANY_DEVICE, 1, &device, NULL));
  context_t context = create_context(NULL, 1, &device, NULL, NULL, &result);
  OK(result);
  queue = create_queue(context, device, 0, &result);
  OK(result);
  size_t size = 0;
  const char* source = contents(argv[2], &size);
  program_t program = create_program(context, 1, &source, &size, &result);
  OK(result);
  OK(build_program(program, 1, &device, "", NULL, NULL));
  kernel = create_kernel(program, "empty", &result);
  OK(result);

  char version[256] = "", name[256] = "", about[600];
  OK(get_platform_info(platform, PLATFORM_VERSION, sizeof version, version, NULL));
  OK(get_device_info(device, DEVICE_NAME, sizeof name, name, NULL));
  snprintf(about, sizeof about, "%s on %s", version, name);
  // There are no lists to record here: launches that are to run together are queued.
  static const turn_t turns[] = {
      {"record_execute", launch_queued},
      {"launch", launch},
      {"launch_queued", launch_queued},
      {"launch_wait", launch_wait},
  };
  return take_turns(about, turns, sizeof turns / sizeof *turns);
}
