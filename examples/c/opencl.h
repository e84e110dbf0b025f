// The OpenCL functions that opencl_interop.cpp calls, looked up at run time: building it needs neither headers nor OpenCL.
#pragma once

#include <dlfcn.h>

#include "check.h"

using cl_platform = struct cl_platform_object*;
using cl_device = struct cl_device_object*;
using cl_context = struct cl_context_object*;
using cl_queue = struct cl_queue_object*;
using cl_program = struct cl_program_object*;
using cl_kernel = struct cl_kernel_object*;
using cl_memory = struct cl_memory_object*;
using cl_event = struct cl_event_object*;

enum : uint64_t { kClDeviceOfCpu = 1 << 1, kClReadWrite = 1 << 0, kClMapReadWrite = 3 };
enum : int32_t { kClComplete = 0 };

// Exits a program that cannot run here, with the reason.
[[noreturn]] inline void skip(const char* reason) {
  std::printf("skipped: %s; on Debian: apt install ocl-icd-libopencl1 pocl-opencl-icd\n", reason);
  std::exit(0);
}

inline void check_opencl(int32_t status, const char* call, int line) {
  if (status == 0) return;
  std::fprintf(stderr, "line %d: %s returned %d\n", line, call, status);
  std::exit(1);
}
#define CHECK_CL(call) check_opencl((call), #call, __LINE__)

struct OpenCl {
  void* library = open();

  int32_t (*get_platforms)(uint32_t, cl_platform*, uint32_t*) = find("clGetPlatformIDs");
  int32_t (*get_devices)(cl_platform, uint64_t, uint32_t, cl_device*, uint32_t*) = find("clGetDeviceIDs");
  cl_context (*create_context)(const intptr_t*, uint32_t, const cl_device*, void*, void*, int32_t*) = find("clCreateContext");
  cl_queue (*create_queue)(cl_context, cl_device, uint64_t, int32_t*) = find("clCreateCommandQueue");
  cl_memory (*create_buffer)(cl_context, uint64_t, size_t, void*, int32_t*) = find("clCreateBuffer");
  void* (*map_buffer)(cl_queue, cl_memory, uint32_t, uint64_t, size_t, size_t, uint32_t, const cl_event*, cl_event*,
                      int32_t*) = find("clEnqueueMapBuffer");
  cl_program (*create_program)(cl_context, uint32_t, const char**, const size_t*, int32_t*) = find("clCreateProgramWithSource");
  int32_t (*build_program)(cl_program, uint32_t, const cl_device*, const char*, void*, void*) = find("clBuildProgram");
  cl_kernel (*create_kernel)(cl_program, const char*, int32_t*) = find("clCreateKernel");
  int32_t (*set_argument)(cl_kernel, uint32_t, size_t, const void*) = find("clSetKernelArg");
  int32_t (*launch)(cl_queue, cl_kernel, uint32_t, const size_t*, const size_t*, const size_t*, uint32_t, const cl_event*,
                    cl_event*) = find("clEnqueueNDRangeKernel");
  int32_t (*marker)(cl_queue, uint32_t, const cl_event*, cl_event*) = find("clEnqueueMarkerWithWaitList");
  int32_t (*barrier)(cl_queue, uint32_t, const cl_event*, cl_event*) = find("clEnqueueBarrierWithWaitList");
  int32_t (*on_event)(cl_event, int32_t, void (*)(cl_event, int32_t, void*), void*) = find("clSetEventCallback");
  cl_event (*create_user_event)(cl_context, int32_t*) = find("clCreateUserEvent");
  int32_t (*set_status)(cl_event, int32_t) = find("clSetUserEventStatus");
  int32_t (*release_event)(cl_event) = find("clReleaseEvent");
  int32_t (*flush)(cl_queue) = find("clFlush");
  int32_t (*finish)(cl_queue) = find("clFinish");

 private:
  // OPENCL_LIBRARY names another loader than the system's.
  static void* open() {
    const char* named = std::getenv("OPENCL_LIBRARY");
    void* found = dlopen(named ? named : "libOpenCL.so.1", RTLD_NOW);
    if (!found) skip("there is no OpenCL loader");
    return found;
  }

  struct Found {
    void* address;
    template <class Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };
  Found find(const char* name) const {
    void* address = dlsym(library, name);
    if (!address) skip("the OpenCL loader lacks functions of OpenCL 1.2");
    return {address};
  }
};
