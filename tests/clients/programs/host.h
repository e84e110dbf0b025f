// What the programs share that look at how the driver behaves in a C program: a kernel that works, and the planning process as the
// rest of the system sees it.
#pragma once

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { LENGTH = 1000 };

static inline double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

// Launches saxpy and looks at what came out.
static inline bool saxpy_works(setup_t s, ze_kernel_handle_t kernel) {
  float* x = (float*)host_memory(s, LENGTH * sizeof(float));
  float* y = (float*)host_memory(s, LENGTH * sizeof(float));
  for (int i = 0; i < LENGTH; ++i) x[i] = (float)i, y[i] = 1;
  float a = 2;
  uint64_t n = LENGTH;
  ARGUMENT(kernel, 0, y);
  ARGUMENT(kernel, 1, x);
  ARGUMENT(kernel, 2, a);
  ARGUMENT(kernel, 3, n);
  CHECK(zeKernelSetGroupSize(kernel, 100, 1, 1));
  ze_command_list_handle_t list = make_immediate(s, 0, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  ze_group_count_t groups = {LENGTH / 100, 1, 1};
  CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
  bool good = true;
  for (int i = 0; i < LENGTH; ++i) good = good && y[i] == 2 * (float)i + 1;
  CHECK(zeCommandListDestroy(list));
  CHECK(zeMemFree(s.context, x));
  CHECK(zeMemFree(s.context, y));
  return good;
}

// The driver makes the same module again without the planning process, but not with other flags; those that it does not know it
// leaves alone.
static inline const char* other_flags(void) {
  static int times;
  static __thread char flags[30];
  snprintf(flags, sizeof flags, "-again=%d", __atomic_add_fetch(&times, 1, __ATOMIC_RELAXED));
  return flags;
}

static inline ze_module_handle_t load_anew(setup_t s, const char* path) { return load_with_flags(s, path, other_flags()); }

static inline bool build_and_run(setup_t s, const char* path) {
  ze_module_handle_t module = load_anew(s, path);
  ze_kernel_handle_t kernel = make_kernel(module, "saxpy");
  bool good = saxpy_works(s, kernel);
  CHECK(zeKernelDestroy(kernel));
  CHECK(zeModuleDestroy(module));
  return good;
}

static inline bool file_holds(const char* folder, const char* name, const char* text) {
  char path[300];
  snprintf(path, sizeof path, "/proc/%s/%s", folder, name);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  static char content[1 << 16];
  ssize_t size = read(file, content, sizeof content);
  close(file);
  return size > 0 && memmem(content, (size_t)size, text, strlen(text));
}

// Processes with this one's mark in their environment that are planning processes; the last one's number. The test sets HOST_MARK.
static inline int planning_processes(pid_t* last) {
  char mark[200];
  snprintf(mark, sizeof mark, "HOST_MARK=%s", getenv("HOST_MARK"));
  int found = 0;
  DIR* all = opendir("/proc");
  for (struct dirent* entry; (entry = readdir(all));) {
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    if (!file_holds(entry->d_name, "environ", mark) || !file_holds(entry->d_name, "cmdline", "service.serve")) continue;
    ++found;
    if (last) *last = atoi(entry->d_name);
  }
  closedir(all);
  return found;
}

static inline int open_descriptors(void) {
  int found = 0;
  for (int i = 0; i < 1024; ++i) found += fcntl(i, F_GETFD) >= 0;
  return found;
}

static inline const char* last_error(setup_t s) {
  const char* text = "";
  CHECK(zeDriverGetLastErrorDescription(s.driver, &text));
  return text;
}
