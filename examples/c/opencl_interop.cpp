// OpenCL and Level Zero on the same memory, from the same program, in one order. opencl_interop.py is shorter: the Python
// package does all of this.
#include "kernels.h"
#include "opencl.h"

int main() {
  OpenCl cl;
  cl_platform platforms[8];
  uint32_t count = 0;
  cl_device cl_device = nullptr;
  // A CPU device uses host memory, which Level Zero can access.
  if (cl.get_platforms(8, platforms, &count) == 0)
    for (uint32_t i = 0; i < count && i < 8 && !cl_device; ++i)
      if (cl.get_devices(platforms[i], kClDeviceOfCpu, 1, &cl_device, nullptr)) cl_device = nullptr;
  if (!cl_device) skip("there is no OpenCL platform with a processor");
  int32_t status = 0;
  cl_context cl_context = cl.create_context(nullptr, 1, &cl_device, nullptr, nullptr, &status);
  CHECK_CL(status);
  cl_queue cl_queue = cl.create_queue(cl_context, cl_device, 0, &status);
  CHECK_CL(status);

  // A buffer: mapped while both use it, so that its address stays valid. Nothing is copied.
  constexpr uint32_t kItems = 1 << 16;
  float* mapped[2];
  cl_memory buffers[2];
  for (int i = 0; i < 2; ++i) {
    buffers[i] = cl.create_buffer(cl_context, kClReadWrite, kItems * sizeof(float), nullptr, &status);
    CHECK_CL(status);
    mapped[i] = static_cast<float*>(
        cl.map_buffer(cl_queue, buffers[i], 1, kClMapReadWrite, 0, kItems * sizeof(float), 0, nullptr, nullptr, &status));
    CHECK_CL(status);
  }
  float *y = mapped[0], *x = mapped[1];
  for (uint32_t i = 0; i < kItems; ++i) y[i] = 1, x[i] = 2;

  // A program: OpenCL builds it from its source, Level Zero from the SPIR-V of the same source.
  Bytes source = read_file(std::filesystem::absolute(__FILE__).parent_path().parent_path() / "kernels" / "saxpy.cl");
  const char* text = reinterpret_cast<const char*>(source.data());
  size_t length = source.size();
  cl_program program = cl.create_program(cl_context, 1, &text, &length, &status);
  CHECK_CL(status);
  CHECK_CL(cl.build_program(program, 1, &cl_device, "", nullptr, nullptr));
  cl_kernel theirs = cl.create_kernel(program, "saxpy", &status);
  CHECK_CL(status);
  Setup s;
  ze_module_handle_t module = make_module(s, "saxpy");
  ze_kernel_handle_t ours = make_kernel(module, "saxpy");
  CHECK(zeKernelSetGroupSize(ours, 64, 1, 1));

  ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
  ze_command_list_handle_t list = nullptr;
  CHECK(zeCommandListCreateImmediate(s.context, s.device, &desc, &list));
  constexpr uint32_t kTurns = 10;
  ze_event_pool_handle_t pool = s.pool(2 * kTurns);
  std::vector<ze_event_handle_t> events;
  for (uint32_t i = 0; i < 2 * kTurns; ++i) events.push_back(s.event(pool, i));

  // A queue: commands of both sides run in the order of submission, without blocking the host. OpenCL adds x to y,
  // Level Zero y to x, so any other order has another result.
  std::vector<std::jthread> watchers;
  const float one = 1;
  const size_t items = kItems;
  for (uint32_t turn = 0; turn < kTurns; ++turn) {
    CHECK_CL(cl.set_argument(theirs, 0, sizeof(cl_memory), &buffers[0]));
    CHECK_CL(cl.set_argument(theirs, 1, sizeof(cl_memory), &buffers[1]));
    CHECK_CL(cl.set_argument(theirs, 2, sizeof one, &one));
    CHECK_CL(cl.launch(cl_queue, theirs, 1, nullptr, &items, nullptr, 0, nullptr, nullptr));

    // From OpenCL to Level Zero: OpenCL calls back when all commands before the marker are done, and the callback signals an event.
    cl_event reached = nullptr;
    CHECK_CL(cl.marker(cl_queue, 0, nullptr, &reached));
    ze_event_handle_t begin = events[2 * turn], end = events[2 * turn + 1];
    CHECK_CL(cl.on_event(
        reached, kClComplete,
        [](cl_event, int32_t, void* event) { CHECK(zeEventHostSignal(static_cast<ze_event_handle_t>(event))); }, begin));
    CHECK_CL(cl.release_event(reached));
    CHECK_CL(cl.flush(cl_queue));
    set_arguments(ours, x, y, one);
    ze_group_count_t groups = {kItems / 64, 1, 1};
    CHECK(zeCommandListAppendLaunchKernel(list, ours, &groups, end, 1, &begin));

    // And back: OpenCL's queue waits for a user event, which a thread completes.
    cl_event passed = cl.create_user_event(cl_context, &status);
    CHECK_CL(status);
    CHECK_CL(cl.barrier(cl_queue, 1, &passed, nullptr));
    watchers.emplace_back([&cl, end, passed] {
      CHECK(zeEventHostSynchronize(end, kForever));
      CHECK_CL(cl.set_status(passed, kClComplete));
      CHECK_CL(cl.release_event(passed));
    });
  }
  CHECK_CL(cl.finish(cl_queue));
  watchers.clear();
  float expected_y = 1, expected_x = 2;
  for (uint32_t turn = 0; turn < kTurns; ++turn) expected_y += expected_x, expected_x += expected_y;
  bool right = true;
  for (uint32_t i = 0; i < kItems; ++i) right = right && y[i] == expected_y && x[i] == expected_x;
  prove(right, "%u launches of OpenCL and %u of Level Zero on one buffer, in turns", kTurns, kTurns);

  for (ze_event_handle_t event : events) CHECK(zeEventDestroy(event));
  CHECK(zeEventPoolDestroy(pool));
  CHECK(zeCommandListDestroy(list));
  CHECK(zeKernelDestroy(ours));
  CHECK(zeModuleDestroy(module));
}
