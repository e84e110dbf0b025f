// Launches: every group once, whoever runs it; local memory, counts found at execution, cooperation; and kernels that go wrong.
#include <signal.h>

#include "kernels.h"
#include "system/settings.h"

using namespace scene;
using namespace kernels;

// The engine's handler comes before the sanitizer's, and what lies behind a fault is not run to its end.
#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() { return "allow_user_segv_handler=1:detect_leaks=0:handle_segv=1"; }
#endif

namespace {

using anyzero::settings;

const Facts kNumber{.name = "number", .parameters = {kPointer}};
const Facts kCount{.name = "count", .parameters = {kPointer}};

uint64_t* numbers(const Scene& scene, size_t count) { return reinterpret_cast<uint64_t*>(scene.memory(count * sizeof(uint64_t))); }

void every_item_once(const Scene& scene) {
  KernelHandle kernel(scene, kNumber);
  ze_command_list_handle_t list = scene.immediate(kCompute);
  struct {
    uint32_t count[3], size[3], offset[3];
  } const shapes[] = {{{1, 1, 1}, {1, 1, 1}, {}},       {{7, 1, 1}, {5, 1, 1}, {3, 0, 0}}, {{3, 4, 5}, {2, 3, 4}, {1, 2, 3}},
                      {{1, 9, 1}, {16, 1, 2}, {}},      {{2000, 1, 1}, {64, 1, 1}, {}},    {{100, 10, 3}, {1, 1, 1}, {9, 9, 9}},
                      {{1, 1, 4000}, {1, 8, 1}, {0, 7}}};
  for (const auto& shape : shapes) {
    uint64_t size[3], items = 1;
    for (int i = 0; i < 3; ++i) items *= size[i] = uint64_t{shape.count[i]} * shape.size[i];
    uint64_t* to = numbers(scene, items);
    for (int round = 0; round < 3; ++round) {
      std::memset(to, 0, items * sizeof *to);
      kernel.set(0, to).group(shape.size[0], shape.size[1], shape.size[2]);
      OK(zeKernelSetGlobalOffsetExp(kernel, shape.offset[0], shape.offset[1], shape.offset[2]));
      launch(list, kernel, shape.count[0], shape.count[1], shape.count[2]);
      OK(zeCommandListHostSynchronize(list, kSoon));
      uint64_t at = 0;
      for (uint64_t z = 0; z < size[2]; ++z)
        for (uint64_t y = 0; y < size[1]; ++y)
          for (uint64_t x = 0; x < size[0]; ++x)
            assert(to[at++] == x + shape.offset[0] + 1000 * (y + shape.offset[1]) + 1000000 * (z + shape.offset[2]));
    }
    scene.free(to);
  }
  OK(zeCommandListDestroy(list));
}

void groups_are_counted(const Scene& scene) {
  KernelHandle kernel(scene, kCount), empty(scene, {.name = "empty"});
  ze_command_list_handle_t list = scene.immediate(kCompute);
  uint64_t* to = numbers(scene, 2);
  uint64_t expected = to[0] = 0;
  kernel.set(0, to);
  for (uint32_t groups : {1u, 2u, 3u, 1000u, 1u << 20, 1u << 31}) {
    launch(list, kernel, groups);
    launch(list, empty, groups, 2);
    expected += groups;
  }
  launch(list, kernel, 0);
  launch(list, kernel, 5, 0, 7);
  OK(zeCommandListHostSynchronize(list, kSoon));
  assert(to[0] == expected && to[1] == 1);
  launch(list, kernel, 1, 3, 1);
  OK(zeCommandListHostSynchronize(list, kSoon));
  assert(to[1] == 2);
  kernel.group(1, 1, 4);
  launch(list, kernel, 1);
  OK(zeCommandListHostSynchronize(list, kSoon));
  assert(to[1] == 3);
  scene.free(to);
  OK(zeCommandListDestroy(list));
}

// A launch takes what the kernel was when it was appended, and lives on without it.
void snapshots(const Scene& scene) {
  constexpr uint32_t kLaunches = 200;
  uint64_t* to = numbers(scene, kLaunches);
  std::memset(to, 0, kLaunches * sizeof *to);
  ze_command_list_handle_t list = scene.list(kCompute);
  {
    KernelHandle kernel(scene, kNumber);
    for (uint32_t i = 0; i < kLaunches; ++i) {
      OK(zeKernelSetGlobalOffsetExp(kernel, i + 1, 0, 0));
      kernel.set(0, to + i);
      launch(list, kernel, 1);
    }
  }
  OK(zeCommandListClose(list));
  ze_command_queue_handle_t queue = scene.queue(kCompute);
  for (int round = 0; round < 3; ++round) OK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
  OK(zeCommandQueueSynchronize(queue, kSoon));
  for (uint32_t i = 0; i < kLaunches; ++i) assert(to[i] == i + 1);
  OK(zeCommandListDestroy(list));
  OK(zeCommandQueueDestroy(queue));
  scene.free(to);
}

void local_memory(const Scene& scene) {
  KernelHandle kernel(scene, {.name = "local",
                              .parameters = {kPointer, kLocal, kLocal},
                              .local_bytes = 100,
                              .scratch_fixed = 50,
                              .scratch_per_vector = 10});
  ze_command_list_handle_t list = scene.immediate(kCompute);
  uint64_t* wrong = numbers(scene, 1);
  wrong[0] = 0;
  kernel.set(0, wrong).group(64);
  for (size_t bytes : {size_t{1}, size_t{5000}, size_t{20000}, size_t{128}}) {
    kernel.local(1, bytes).local(2, bytes / 2 + 1);
    launch(list, kernel, 300);
  }
  OK(zeCommandListHostSynchronize(list, kSoon));
  assert(wrong[0] == 0);
  scene.free(wrong);
  OK(zeCommandListDestroy(list));
}

void arguments_are_aligned(const Scene& scene) {
  for (uint32_t alignment : {8u, 16u, 64u, 128u}) {
    KernelHandle kernel(scene, {.name = "where", .parameters = {kPointer, {anyzero::ArgumentKind::Value, 128, alignment}}});
    ze_command_list_handle_t list = scene.immediate(kCompute, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    uint64_t* to = numbers(scene, 1);
    kernel.set(0, to);
    for (int i = 0; i < 20; ++i) {
      launch(list, kernel, 1);
      assert(to[0] && to[0] % alignment == 0);
    }
    scene.free(to);
    OK(zeCommandListDestroy(list));
  }
}

void counts_in_memory(const Scene& scene) {
  KernelHandle kernel(scene, kCount);
  ze_command_list_handle_t list = scene.immediate(kCompute);
  uint64_t* to = numbers(scene, 2);
  auto* counts = reinterpret_cast<ze_group_count_t*>(scene.memory(4 * sizeof(ze_group_count_t)));
  auto* enabled = reinterpret_cast<uint32_t*>(scene.memory(64));
  ze_event_handle_t gate = scene.events(1)[0];
  to[0] = 0;
  kernel.set(0, to);
  barrier(list, nullptr, {gate});
  OK(zeCommandListAppendLaunchKernelIndirect(list, kernel, counts, nullptr, 0, nullptr));
  ze_kernel_handle_t all[3] = {kernel, kernel, kernel};
  OK(zeCommandListAppendLaunchMultipleKernelsIndirect(list, 3, all, enabled, counts + 1, nullptr, 0, nullptr));
  // The count is known only now.
  counts[0] = {3, 2, 1};
  counts[1] = {10, 1, 1};
  counts[2] = {100, 1, 1};
  counts[3] = {1000, 1, 1};
  *enabled = 2;
  OK(zeEventHostSignal(gate));
  OK(zeCommandListHostSynchronize(list, kSoon));
  assert(to[0] == 6 + 110);
  OK(zeEventDestroy(gate));
  OK(zeCommandListDestroy(list));
  for (void* memory : {static_cast<void*>(to), static_cast<void*>(counts), static_cast<void*>(enabled)}) scene.free(memory);
}

// Many threads, each with a list of its own and the same kernel's code.
void many_threads(const Scene& scene) {
  KernelHandle shared(scene, kCount);
  uint64_t* to = numbers(scene, 2);
  to[0] = 0;
  shared.set(0, to);
  threads(4, [&](int index) {
    ze_command_list_handle_t list = scene.immediate(kCompute);
    for (int i = 0; i < 150; ++i) {
      launch(list, shared, static_cast<uint32_t>(1 + i * 37));
      if (i % 7 == index) OK(zeCommandListHostSynchronize(list, kSoon));
    }
    OK(zeCommandListHostSynchronize(list, kSoon));
    OK(zeCommandListDestroy(list));
  });
  uint64_t expected = 0;
  for (uint64_t i = 0; i < 150; ++i) expected += 4 * (1 + i * 37);
  assert(to[0] == expected);
  scene.free(to);
}

void cooperation(const Scene& scene) {
  KernelHandle kernel(scene, {.name = "meet", .parameters = {kPointer, kU64}});
  ze_command_list_handle_t list = scene.immediate(kCompute);
  auto* here = reinterpret_cast<uint32_t*>(scene.memory(64));
  uint32_t most = 0;
  OK(zeKernelSuggestMaxCooperativeGroupCount(kernel, &most));
  assert(most >= 16);
  kernel.set(0, here).set(1, UINT64_MAX);
  for (uint32_t groups : {1u, 2u, 5u, 16u}) {
    *here = 0;
    ze_group_count_t count{groups, 1, 1};
    OK(zeCommandListAppendLaunchCooperativeKernel(list, kernel, &count, nullptr, 0, nullptr));
    OK(zeCommandListHostSynchronize(list, kSoon));
    assert(*here == groups);
  }
  ze_group_count_t too_many{most + 1, 1, 1};
  assert(zeCommandListAppendLaunchCooperativeKernel(list, kernel, &too_many, nullptr, 0, nullptr) ==
         ZE_RESULT_ERROR_INVALID_ARGUMENT);
  OK(zeCommandListDestroy(list));
  scene.free(here);
}

// What the loss report of a kernel says.
std::string loss(const Scene& scene, ze_kernel_handle_t kernel, uint32_t groups, bool cooperative = false) {
  Scene doomed = scene;
  doomed.context = scene.new_context();
  ze_command_list_handle_t list = doomed.immediate(kCompute);
  auto events = doomed.events(1);
  ze_group_count_t count{groups, 1, 1};
  auto* append = cooperative ? zeCommandListAppendLaunchCooperativeKernel : zeCommandListAppendLaunchKernel;
  ze_result_t appended = append(list, kernel, &count, events[0], 0, nullptr);
  assert(appended == ZE_RESULT_SUCCESS);
  assert(zeCommandListHostSynchronize(list, kSoon) == ZE_RESULT_ERROR_DEVICE_LOST);
  const char* text = "";
  OK(zeDriverGetLastErrorDescription(scene.driver, &text));
  std::string report = text;
  assert(zeEventHostSynchronize(events[0], kSoon) == ZE_RESULT_ERROR_DEVICE_LOST);
  OK(zeCommandListDestroy(list));
  OK(zeEventDestroy(events[0]));
  OK(zeContextDestroy(doomed.context));
  return report;
}

bool says(const std::string& report, std::initializer_list<const char*> all) {
  for (const char* text : all)
    if (report.find(text) == std::string::npos) {
      std::fprintf(stderr, "'%s' is missing in: %s\n", text, report.c_str());
      return false;
    }
  return true;
}

void faults(const Scene& scene) {
  KernelHandle load(scene, {.name = "load", .parameters = {kPointer}});
  KernelHandle divide(scene, {.name = "divide"}), illegal(scene, {.name = "illegal"}), overflow(scene, {.name = "overflow"});
  KernelHandle fault(scene, {.name = "fault", .parameters = {kU32}});
  KernelHandle overrun(scene, {.name = "local_overrun", .parameters = {kU64}, .local_bytes = 1000});
  overrun.set(0, uint64_t{16'384});
  for (uint32_t groups : {1u, 64u, 100'000u}) {
    load.set(0, uint64_t{0});
    assert(says(loss(scene, load, groups), {"kernel load", "null pointer", "offset"}));
    load.set(0, uint64_t{0x7000'0000'1000});
    assert(says(loss(scene, load, groups), {"kernel load", "0x700000001000", "not in or near"}));
    load.set(0, uint64_t{0x8000'0000'0000'0000});
    assert(says(loss(scene, load, groups), {"kernel load", "invalid address"}));
    assert(says(loss(scene, divide, groups), {"kernel divide", "arithmetic"}));
    assert(says(loss(scene, illegal, groups), {"kernel illegal", "illegal instruction"}));
    assert(says(loss(scene, overflow, groups), {"kernel overflow", "stack overflowed"}));
    fault.set(0, uint32_t{1});
    assert(says(loss(scene, fault, groups), {"kernel fault", "divided by zero"}));
    fault.set(0, uint32_t{3});
    assert(says(loss(scene, fault, groups), {"kernel fault", "0x1234"}));
    assert(says(loss(scene, overrun, groups), {"kernel local_overrun", "local memory"}));
  }
}

void time_limit(const Scene& scene) {
  settings.kernel_timeout_ms = 30;
  KernelHandle spin(scene, {.name = "spin", .flags = 0});
  for (uint32_t groups : {1u, 3u, 10'000u, 1u << 31}) assert(says(loss(scene, spin, groups), {"kernel spin", "0.03 s"}));
  // Only late ones: by then hundreds of millions of shares have been handed out.
  KernelHandle late(scene, {.name = "spin_while", .parameters = {kPointer, kU64}, .flags = 0});
  auto* word = reinterpret_cast<uint32_t*>(scene.memory(64));
  *word = 1;
  late.set(0, word).set(1, uint64_t{1} << 20);
  assert(says(loss(scene, late, 1u << 31), {"kernel spin_while", "0.03 s"}));
  scene.free(word);
  // Those in time are left alone, however slow the machine is.
  settings.kernel_timeout_ms = 3'600'000;
  groups_are_counted(scene);
  settings.kernel_timeout_ms = 0;
}

// One group of a cooperative kernel ends badly; the others wait for it and must be brought home.
void faults_among_friends(const Scene& scene) {
  KernelHandle kernel(scene, {.name = "meet", .parameters = {kPointer, kU64}});
  auto* here = reinterpret_cast<uint32_t*>(scene.memory(64));
  for (uint64_t faulty : {0, 3, 7}) {
    *here = 0;
    kernel.set(0, here).set(1, faulty);
    assert(says(loss(scene, kernel, 8, true), {"kernel meet", "marked as unreachable"}));
  }
  settings.kernel_timeout_ms = 30;
  KernelHandle spin(scene, {.name = "spin", .flags = 0});
  assert(says(loss(scene, spin, 4, true), {"kernel spin", "0.03 s"}));
  settings.kernel_timeout_ms = 0;
  scene.free(here);
}

// While queues die, the others go on.
void neighbours(const Scene& scene) {
  threads(3, [&](int index) {
    Scene mine = scene;
    mine.context = scene.new_context();
    KernelHandle good(mine, kCount), bad(mine, {.name = "load", .parameters = {kPointer}});
    ze_command_list_handle_t list = mine.immediate(kCompute);
    uint64_t* to = numbers(mine, 2);
    to[0] = 0;
    good.set(0, to);
    bad.set(0, uint64_t{0x7000'0000'0000 + static_cast<uint64_t>(index) * 4096});
    for (int i = 0; i < 15; ++i) {
      launch(list, good, 5000);
      loss(scene, bad, 2000);
    }
    OK(zeCommandListHostSynchronize(list, kSoon));
    assert(to[0] == 15 * 5000);
    OK(zeCommandListDestroy(list));
    mine.free(to);
  });
}

void test() {
  Scene scene;
  settings.log_level = 0;  // the losses are the point; nobody need read of each
  settings.threads = 4;
  every_item_once(scene);
  groups_are_counted(scene);
  snapshots(scene);
  local_memory(scene);
  arguments_are_aligned(scene);
  counts_in_memory(scene);
  many_threads(scene);
  cooperation(scene);
  faults(scene);
  time_limit(scene);
  faults_among_friends(scene);
  neighbours(scene);
}

}  // namespace

int main() {
  also_handed_over(test);
  std::puts("launch_test: ok");
  return 0;
}
