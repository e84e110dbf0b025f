// Lists of relaxed ordering: commands between two barriers run at the same time, those on both sides of one do not.
#include "exec/program.h"
#include "kernels.h"
#include "objects/commands/command_list.h"
#include "system/settings.h"

using namespace scene;
using namespace kernels;

// The engine's handler comes before the sanitizer's, and what lies behind a fault is not run to its end.
#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() { return "allow_user_segv_handler=1:detect_leaks=0:handle_segv=1"; }
#endif

namespace {

constexpr uint32_t kRelaxed = ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING;
constexpr size_t kRow = 64 << 10, kRows = 64;

struct Stage : Scene {
  ze_command_queue_handle_t work = queue(kCompute);

  ze_command_list_handle_t list_of(uint32_t flags) const {
    ze_command_list_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, kCompute, flags};
    ze_command_list_handle_t made;
    OK(zeCommandListCreate(context, device, &desc, &made));
    return made;
  }
  void run(ze_command_list_handle_t list) const {
    OK(zeCommandQueueExecuteCommandLists(work, 1, &list, nullptr));
    OK(zeCommandQueueSynchronize(work, kSoon));
  }
};

bool overlaps(ze_command_list_handle_t list) { return anyzero::checked<anyzero::CommandList>(list)->program().overlaps(); }

// Each kernel waits for the others to have begun.
void kernels_meet(const Stage& stage) {
  auto* met = reinterpret_cast<uint64_t*>(stage.memory(2 * sizeof(uint64_t)));
  met[0] = met[1] = 0;
  KernelHandle kernel(stage, {.name = "rendezvous", .parameters = {kPointer, kU64}, .flags = anyzero::KernelFlag::kWaits});
  kernel.set(0, met).set(1, uint64_t{2});
  ze_command_list_handle_t list = stage.list_of(kRelaxed);
  launch(list, kernel, 1);
  launch(list, kernel, 1);
  OK(zeCommandListAppendBarrier(list, nullptr, 0, nullptr));
  kernel.set(0, met + 1);
  launch(list, kernel, 1);
  launch(list, kernel, 1);
  OK(zeCommandListClose(list));
  stage.run(list);
  assert(met[0] == 2 && met[1] == 2);
  OK(zeCommandListDestroy(list));
  stage.free(met);
}

// Rows are filled, copied and copied on, with barriers or events between the three; within each, any order will do.
void barriers_and_events_hold(const Stage& stage) {
  unsigned char* rows[3] = {stage.memory(kRow * kRows), stage.memory(kRow * kRows), stage.memory(kRow * kRows)};
  std::vector<ze_event_handle_t> between = stage.events(1);
  ze_command_list_handle_t list = stage.list_of(kRelaxed);
  for (size_t i = 0; i < kRows; ++i) fill(list, rows[0] + i * kRow, static_cast<unsigned char>(i + 1), kRow);
  barrier(list, nullptr);
  for (size_t i = 0; i < kRows; ++i) copy(list, rows[1] + i * kRow, rows[0] + i * kRow, kRow);
  barrier(list, between[0]);
  OK(zeCommandListAppendWaitOnEvents(list, 1, &between[0]));
  for (size_t i = 0; i < kRows; ++i) {
    copy(list, rows[2] + i * kRow, rows[1] + i * kRow, kRow - 64);
    copy(list, rows[2] + (i + 1) * kRow - 64, rows[1] + (i + 1) * kRow - 64, 64);
  }
  OK(zeCommandListAppendEventReset(list, between[0]));
  OK(zeCommandListClose(list));
  assert(overlaps(list));
  for (int round = 0; round < 3; ++round) {
    for (unsigned char* each : rows) std::memset(each, 0xEE, kRow * kRows);
    stage.run(list);
    for (size_t i = 0; i < kRows; ++i) assert(all(rows[2] + i * kRow, static_cast<unsigned char>(i + 1), kRow));
  }
  OK(zeCommandListReset(list));
  assert(!overlaps(list));
  OK(zeCommandListDestroy(list));
  OK(zeEventDestroy(between[0]));
  for (unsigned char* each : rows) stage.free(each);
}

void other_lists_keep_their_order(const Stage& stage) {
  unsigned char* row = stage.memory(2 * kRow);
  for (uint32_t flags : {0u, static_cast<uint32_t>(ZE_COMMAND_LIST_FLAG_IN_ORDER), kRelaxed | ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY}) {
    ze_command_list_handle_t list = stage.list_of(flags);
    for (int i = 0; i < 8; ++i) fill(list, row, static_cast<unsigned char>(i), 2 * kRow);
    OK(zeCommandListClose(list));
    assert(!overlaps(list));
    stage.run(list);
    assert(all(row, 7, 2 * kRow));
    OK(zeCommandListDestroy(list));
  }
  stage.free(row);
}

// The command that went wrong is the one that is named.
void a_fault_names_its_command(const Stage& stage) {
  unsigned char* rows = stage.memory(kRow * 16);
  ze_command_queue_handle_t queue = stage.queue(kCompute);
  ze_command_list_handle_t list = stage.list_of(kRelaxed);
  for (size_t i = 0; i < 8; ++i) fill(list, rows + i * kRow, 1, kRow);
  fill(list, reinterpret_cast<void*>(uintptr_t{0x1000}), 2, kRow + 8);
  for (size_t i = 8; i < 16; ++i) fill(list, rows + i * kRow, 3, kRow);
  OK(zeCommandListClose(list));
  assert(overlaps(list));
  OK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
  assert(zeCommandQueueSynchronize(queue, kSoon) == ZE_RESULT_ERROR_DEVICE_LOST);
  const char* text = "";
  OK(zeDriverGetLastErrorDescription(stage.driver, &text));
  assert(std::strstr(text, "a memory fill of 65544 bytes at 0x1000"));
  OK(zeCommandListDestroy(list));
  OK(zeCommandQueueDestroy(queue));
}

void test() {
  Stage stage;
  anyzero::settings.threads = 4;
  kernels_meet(stage);
  barriers_and_events_hold(stage);
  other_lists_keep_their_order(stage);
  a_fault_names_its_command(stage);
}

}  // namespace

int main() {
  also_handed_over(test);
  std::puts("overlap_test: ok");
  return 0;
}
