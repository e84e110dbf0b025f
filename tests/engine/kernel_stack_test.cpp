// The stack that kernels run on: overruns of private memory, lost registers and overflows end in the loss of one list, on whatever
// thread the kernel runs, and the thread goes on.
#include "exec/kernel_stack.h"

#include <execinfo.h>
#include <sys/mman.h>

#include "exec/kernel_memory.h"
#include "kernels.h"
#include "system/settings.h"

using namespace scene;
using namespace kernels;

// The engine's handler comes before the sanitizer's, and what lies behind a fault is not run to its end.
#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() { return "allow_user_segv_handler=1:detect_leaks=0:handle_segv=1"; }
#endif

namespace {

constexpr ze_command_queue_mode_t kModes[] = {ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};

// The loss report, or an empty text where nothing was noticed.
std::string report_of(const Scene& scene, ze_kernel_handle_t kernel, ze_command_queue_mode_t mode, uint32_t groups = 1,
                      bool cooperative = false) {
  Scene doomed = scene;
  doomed.context = scene.new_context();
  ze_command_list_handle_t list = doomed.immediate(kCompute, mode);
  ze_group_count_t count{groups, 1, 1};
  auto* append = cooperative ? zeCommandListAppendLaunchCooperativeKernel : zeCommandListAppendLaunchKernel;
  ze_result_t result = append(list, kernel, &count, nullptr, 0, nullptr);
  if (result == ZE_RESULT_SUCCESS) result = zeCommandListHostSynchronize(list, kSoon);
  std::string report;
  if (result != ZE_RESULT_SUCCESS) {
    assert(result == ZE_RESULT_ERROR_DEVICE_LOST);
    const char* text = "";
    OK(zeDriverGetLastErrorDescription(scene.driver, &text));
    report = text;
    assert(report.find("kernel ") != std::string::npos);
  }
  OK(zeCommandListDestroy(list));
  OK(zeContextDestroy(doomed.context));
  return report;
}

bool says(const std::string& report, const char* text) {
  if (report.find(text) != std::string::npos) return true;
  std::fprintf(stderr, "'%s' is missing in: %s\n", text, report.c_str());
  return false;
}

void private_memory(const Scene& scene) {
  KernelHandle kernel(scene, {.name = "private_overrun", .parameters = {kU64, kU64}});
  for (auto mode : kModes) {
    for (uint64_t value : {uint64_t{0}, uint64_t{3}, uint64_t{0x4141'4141'4141'4141}, uint64_t{0x7000'0000'1000}, UINT64_MAX})
      for (uint64_t words : {8, 9, 10, 11, 12, 14, 16, 20, 24, 32, 64, 512, 4096}) {
        kernel.set(0, words).set(1, value);
        const std::string report = report_of(scene, kernel, mode, words % 3 == 0 ? 10'000 : 1);
        if (words == 8) assert(report.empty());
        if (words >= 64) assert(says(report, "private memory"));
      }
    kernel.set(0, uint64_t{1000});
    assert(says(report_of(scene, kernel, mode, 8, true), "private memory"));
  }
}

void the_rest(const Scene& scene) {
  KernelHandle registers(scene, {.name = "forget_registers"}), overflow(scene, {.name = "print_overflow"});
  for (auto mode : kModes) {
    assert(report_of(scene, registers, mode).empty());
    assert(says(report_of(scene, overflow, mode), "stack overflowed"));
  }
}

void local_memory(const Scene& scene) {
  KernelHandle kernel(scene, {.name = "local_overrun", .parameters = {kU64}, .local_bytes = 1000});
  for (auto mode : kModes) {
    for (uint64_t distance : {0, 1, 4096, 16'383}) assert(report_of(scene, kernel.set(0, distance), mode).empty());
    for (uint64_t distance : {16'384, 70'000}) assert(says(report_of(scene, kernel.set(0, distance), mode), "local memory"));
  }
}

// A stack is made for each thread, and goes with it.
void threads_come_and_go(const Scene& scene) {
  KernelHandle count(scene, {.name = "count", .parameters = {kPointer}});
  auto* to = reinterpret_cast<uint64_t*>(scene.memory(64));
  to[0] = 0;
  count.set(0, to);
  KernelHandle bad(scene, {.name = "private_overrun", .parameters = {kU64, kU64}});
  bad.set(0, uint64_t{100}).set(1, uint64_t{5});
  for (int round = 0; round < 3; ++round)
    threads(4, [&](int) {
      assert(says(report_of(scene, bad, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS), "private memory"));
      ze_command_list_handle_t list = scene.immediate(kCompute, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
      launch(list, count, 10);
      OK(zeCommandListDestroy(list));
    });
  assert(to[0] == 3 * 4 * 10);
  scene.free(to);
}

void where_it_lies() {
  using namespace anyzero;
  Worker worker;
  auto* top = static_cast<unsigned char*>(provide_memory(100, 100, &worker));
  assert(top && !in_kernel());
  const auto end = reinterpret_cast<uintptr_t>(top), bottom = end - KernelStack::kBytes;
  assert(memory_overrun(end + overrun_slack(), bottom + 100) == Fault::kPrivateOverrun);
  assert(memory_overrun(bottom - 8, bottom) == Fault::kStackOverflow);
  assert(memory_overrun(bottom - 8, end - 64) == Fault::kPrivateOverrun);
  assert(memory_overrun(bottom, bottom) == 0 && memory_overrun(0, bottom) == 0);
  const auto local = reinterpret_cast<uintptr_t>(worker.local), scratch = reinterpret_cast<uintptr_t>(worker.scratch);
  assert(memory_overrun(local + 128 + overrun_slack(), end - 64) == Fault::kLocalOverrun);
  assert(memory_overrun(scratch + 128 + overrun_slack(), end - 64) == Fault::kPrivateOverrun);
  assert(memory_overrun(local + 127 + overrun_slack(), end - 64) == 0);
  top[-1] = worker.local[127 + overrun_slack()] = worker.scratch[127 + overrun_slack()] = 1;
  assert(top[overrun_slack() - 1] == 0);
}

// Masked accesses reach beside the memory, which is slow as long as the pages there are absent.
void pages_beside_it() {
  using namespace anyzero;
  constexpr uintptr_t kPage = 4096;
  Worker worker;
  for (uint64_t bytes : {uint64_t{128}, uint64_t{kPage}, uint64_t{40 * kPage}}) {
    assert(provide_memory(bytes, bytes, &worker));
    for (unsigned char* memory : {worker.local, worker.scratch})
      for (unsigned char* beside : {memory - 1, memory + bytes}) {
        unsigned char present = 0;
        auto* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(beside) & ~(kPage - 1));
        assert(mincore(page, 1, &present) == 0);
        assert(present & 1);
      }
  }
}

// Debuggers and profilers find the way from a kernel's stack to the caller's.
void unwinding() {
  using namespace anyzero;
  struct Frames {
    void* at[64];
    int count;
  };
  Worker worker;
  void* top = provide_memory(0, 0, &worker);
  Frames inside, outside;
  worker.launch = &inside;
  const Entry look = [](const void*, const Grid*, uint64_t, uint64_t, Worker* worker) {
    assert(in_kernel());
    auto& frames = *static_cast<Frames*>(worker->launch);
    frames.count = backtrace(frames.at, 64);
  };
  run_kernel(look, nullptr, nullptr, 0, 1, &worker, top);
  assert(!in_kernel());
  outside.count = backtrace(outside.at, 64);
  // The callers of this function are the same ones, seen from there through the kernel and the switch.
  assert(outside.count >= 3 && inside.count > outside.count);
  assert(inside.at[inside.count - 1] == outside.at[outside.count - 1]);
}

}  // namespace

int main() {
  Scene scene;
  anyzero::settings.log_level = 0;  // the losses are the point; nobody need read of each
  where_it_lies();
  pages_beside_it();
  unwinding();
  private_memory(scene);
  the_rest(scene);
  local_memory(scene);
  threads_come_and_go(scene);
  std::puts("kernel_stack_test: ok");
  return 0;
}
