// An OpenCL program without Level Zero calls: buffers, local memory, atomics, structures, maths, events and mapping.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <math.h>

#include "check.h"

#define CL(call)                                                                    \
  do {                                                                              \
    cl_int status_ = (call);                                                        \
    if (status_ != CL_SUCCESS) prove(false, "%s returned %d", #call, (int)status_); \
  } while (0)

enum { COUNT = 1024, GROUP = 64, NAME = 256 };

static const char* source =
    "kernel void axpy(global float *y, global const float *x, float a) {\n"
    "  size_t i = get_global_id(0);\n"
    "  y[i] += a * x[i];\n"
    "}\n"
    "kernel void sums(global const int *in, global int *out, local int *part) {\n"
    "  size_t l = get_local_id(0);\n"
    "  part[l] = in[get_global_id(0)];\n"
    "  for (size_t step = get_local_size(0) / 2; step; step /= 2) {\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (l < step) part[l] += part[l + step];\n"
    "  }\n"
    "  if (l == 0) out[get_group_id(0)] = part[0];\n"
    "}\n"
    "kernel void curve(global float *x) {\n"
    "  size_t i = get_global_id(0);\n"
    "  x[i] = sin(x[i]) * exp(-x[i]) + pow(x[i], 1.5f);\n"
    "}\n"
    "typedef struct { float4 v; int n; } item;\n"
    "kernel void turn(global item *items, global int *count) {\n"
    "  global item *one = items + get_global_id(0);\n"
    "  one->v = one->v.wzyx * (float)one->n;\n"
    "  atomic_add(count, one->n);\n"
    "}\n";

typedef struct {
  cl_float4 v;
  cl_int n;
} item_t;

static cl_context context;
static cl_command_queue queue;
static cl_program program;

static cl_mem buffer(size_t size, const void* content) {
  cl_int status = CL_SUCCESS;
  cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE | (content ? CL_MEM_COPY_HOST_PTR : 0), size, (void*)content, &status);
  CL(status);
  return made;
}

static cl_kernel kernel(const char* name) {
  cl_int status = CL_SUCCESS;
  cl_kernel made = clCreateKernel(program, name, &status);
  CL(status);
  return made;
}

static cl_event launch(cl_kernel which, size_t items, size_t group) {
  cl_event done = NULL;
  CL(clEnqueueNDRangeKernel(queue, which, 1, NULL, &items, &group, 0, NULL, &done));
  return done;
}

static void start(void) {
  cl_platform_id platform = NULL;
  cl_device_id device = NULL;
  cl_int status = CL_SUCCESS;
  char name[NAME] = "";
  CL(clGetPlatformIDs(1, &platform, NULL));
  CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
  CL(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL));
  prove(strstr(name, "anyzero") != NULL, "OpenCL has the device %s", name);
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  CL(status);
  cl_queue_properties timing[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  queue = clCreateCommandQueueWithProperties(context, device, timing, &status);
  CL(status);
  program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
  CL(status);
  CL(clBuildProgram(program, 1, &device, "", NULL, NULL));
}

static void simple(void) {
  float x[COUNT], y[COUNT], a = 3;
  for (int i = 0; i < COUNT; ++i) x[i] = (float)i, y[i] = 1;
  cl_mem mx = buffer(sizeof x, x), my = buffer(sizeof y, y);
  cl_kernel axpy = kernel("axpy");
  CL(clSetKernelArg(axpy, 0, sizeof my, &my));
  CL(clSetKernelArg(axpy, 1, sizeof mx, &mx));
  CL(clSetKernelArg(axpy, 2, sizeof a, &a));
  cl_event done = launch(axpy, COUNT, GROUP);
  CL(clEnqueueReadBuffer(queue, my, CL_TRUE, 0, sizeof y, y, 1, &done, NULL));
  int wrong = 0;
  for (int i = 0; i < COUNT; ++i) wrong += y[i] != 3 * x[i] + 1;
  cl_ulong began = 0, ended = 0;
  CL(clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_START, sizeof began, &began, NULL));
  CL(clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_END, sizeof ended, &ended, NULL));
  prove(wrong == 0 && ended > began, "axpy: %d wrong after %lu ns", wrong, (unsigned long)(ended - began));
}

static void local_memory(void) {
  int in[COUNT], out[COUNT / GROUP], wrong = 0;
  for (int i = 0; i < COUNT; ++i) in[i] = i;
  cl_mem min = buffer(sizeof in, in), mout = buffer(sizeof out, NULL);
  cl_kernel sums = kernel("sums");
  CL(clSetKernelArg(sums, 0, sizeof min, &min));
  CL(clSetKernelArg(sums, 1, sizeof mout, &mout));
  CL(clSetKernelArg(sums, 2, GROUP * sizeof(int), NULL));
  launch(sums, COUNT, GROUP);
  CL(clEnqueueReadBuffer(queue, mout, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
  for (int i = 0; i < COUNT / GROUP; ++i) wrong += out[i] != GROUP * GROUP * i + GROUP * (GROUP - 1) / 2;
  prove(wrong == 0, "sums by way of local memory: %d wrong", wrong);
}

static void maths(void) {
  float x[COUNT];
  for (int i = 0; i < COUNT; ++i) x[i] = (float)i / 100;
  cl_mem mx = buffer(sizeof x, x);
  cl_kernel curve = kernel("curve");
  CL(clSetKernelArg(curve, 0, sizeof mx, &mx));
  launch(curve, COUNT, GROUP);
  cl_int status = CL_SUCCESS;
  float* seen = clEnqueueMapBuffer(queue, mx, CL_TRUE, CL_MAP_READ, 0, sizeof x, 0, NULL, NULL, &status);
  CL(status);
  int wrong = 0;
  for (int i = 0; i < COUNT; ++i) {
    double expected = sin(x[i]) * exp(-x[i]) + pow(x[i], 1.5);
    wrong += fabs(seen[i] - expected) > 1e-5 * (1 + fabs(expected));
  }
  CL(clEnqueueUnmapMemObject(queue, mx, seen, 0, NULL, NULL));
  prove(wrong == 0, "a curve in mapped memory: %d wrong", wrong);
}

static void structures(void) {
  item_t items[GROUP];
  cl_int count = 0, expected = 0, wrong = 0;
  for (int i = 0; i < GROUP; ++i) items[i] = (item_t){.v = {{0, 1, 2, 3}}, .n = i}, expected += i;
  cl_mem mitems = buffer(sizeof items, items), mcount = buffer(sizeof count, NULL);
  CL(clEnqueueFillBuffer(queue, mcount, &count, sizeof count, 0, sizeof count, 0, NULL, NULL));
  cl_kernel turn = kernel("turn");
  CL(clSetKernelArg(turn, 0, sizeof mitems, &mitems));
  CL(clSetKernelArg(turn, 1, sizeof mcount, &mcount));
  launch(turn, GROUP, GROUP);
  CL(clEnqueueReadBuffer(queue, mitems, CL_TRUE, 0, sizeof items, items, 0, NULL, NULL));
  CL(clEnqueueReadBuffer(queue, mcount, CL_TRUE, 0, sizeof count, &count, 0, NULL, NULL));
  for (int i = 0; i < GROUP; ++i) wrong += items[i].v.s[0] != 3 * (float)i || items[i].v.s[3] != 0;
  prove(wrong == 0 && count == expected, "structures and atomics: %d wrong", wrong);
}

int main(void) {
  start();
  simple();
  local_memory();
  maths();
  structures();
  CL(clFinish(queue));
  CL(clReleaseProgram(program));
  CL(clReleaseCommandQueue(queue));
  CL(clReleaseContext(context));
}
