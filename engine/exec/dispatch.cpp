#include "dispatch.h"

#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "../check/finding.h"
#include "../objects/devices/device.h"
#include "../system/clock.h"
#include "../system/settings.h"
#include "blocks.h"
#include "bounds.h"
#include "checked_access.h"
#include "code.h"
#include "cooperate.h"
#include "kernel_memory.h"
#include "kernel_stack.h"
#include "launch_notes.h"
#include "pool.h"
#include "reach.h"
#include "running.h"
#include "sampled_run.h"
#include "watchdog.h"

namespace anyzero {

namespace {

// In picoseconds: a group of a trivial kernel takes only a few.
constexpr uint64_t kPiece = 10'000'000;      // a thread works alone for so long before it checks how much is left
constexpr uint64_t kTelling = 2'000'000;     // a shorter measurement is mostly the cost of the call
constexpr uint64_t kChunk = 50'000'000;      // the longest share
constexpr uint64_t kLeastChunk = 5'000'000;  // the shortest share: handing out less costs too much
constexpr uint64_t kBrief = kBriefNs * 1000;
// Most shares for each thread. A disturbed measurement could otherwise cut billions of groups into tiny shares; with this many, the
// last thread to finish is not far behind in any case.
constexpr uint64_t kMostShares = 4096;
constexpr uint64_t kUnknown = UINT64_MAX / 2;
constexpr unsigned kUsualRounding = 0x1F80;
constexpr unsigned kStickyFlags = 0x3F;

uint64_t times(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? kUnknown : product;
}

// Sets the floating-point environment of the specification while a kernel runs; the program may have set another on this thread.
class UsualRounding {
 public:
  UsualRounding() : before_(_mm_getcsr()) {
    if ((before_ & ~kStickyFlags) != kUsualRounding) _mm_setcsr(kUsualRounding);
  }
  ~UsualRounding() {
    if ((before_ & ~kStickyFlags) != kUsualRounding) _mm_setcsr(before_);
  }

 private:
  unsigned before_;
};

// Guided scheduling of a range of groups: large shares first, then small ones, so that the last thread to finish is not far behind.
struct Shares {
  RunningLaunch& running;
  uint64_t first;
  uint64_t end;
  uint64_t large;
  uint64_t small;
  uint32_t large_count;
  std::atomic<uint64_t> spent{0};

  Shares(RunningLaunch& launch, uint64_t first, uint64_t end, uint64_t most) : running(launch), first(first), end(end) {
    const uint64_t left = end - first;
    large = std::max(most, left / (settings.threads * kMostShares) + 1);
    small = (large + 3) / 4;
    large_count = static_cast<uint32_t>(left / large * 3 / 4);
  }

  uint32_t count() const { return large_count + static_cast<uint32_t>((end - begin(large_count) + small - 1) / small); }

  uint64_t begin(uint32_t index) const {
    return first + std::min(index, large_count) * large + (index - std::min(index, large_count)) * small;
  }

  static void run(void* shares, uint32_t index) {
    auto& self = *static_cast<Shares*>(shares);
    const uint64_t start = now_ns();
    run_groups(self.running, self.begin(index), std::min(self.begin(index + 1), self.end));
    self.spent.fetch_add(now_ns() - start, std::memory_order_relaxed);
  }
};

// `pace` is the time of a group. Returns the nanoseconds that all threads together have worked.
uint64_t share_out(RunningLaunch& running, const Code& code, uint64_t first, uint64_t end, uint64_t pace) {
  const uint64_t even = std::max((end - first) / (settings.threads * 4), kLeastChunk / pace);
  Shares shares(running, first, end, std::max<uint64_t>(std::min(kChunk / pace, even), 1));
  // A thread that waits for something else must not be blocked indefinitely.
  const bool brief = !code.may_wait() && times(pace, shares.large) <= kBrief && code.ends(running.turns);
  parallel(shares.count(), Shares::run, &shares, brief);
  return shares.spent.load(std::memory_order_relaxed);
}

// Runs groups on this thread alone while the remaining work is too short to share. The kernel's pace tells; if it is unknown or
// wrong, a first piece is measured. Returns the nanoseconds that all threads together have worked; 0 if not measured.
uint64_t run_adaptively(RunningLaunch& running, Code& code, uint64_t groups, Busy& busy) {
  const uint64_t items = running.grid.group_size[0] * running.grid.group_size[1] * running.grid.group_size[2];
  uint64_t pace = std::max<uint64_t>(times(code.pace(), items), 1), done = 0, spent = 0;
  // The pace may have been measured with other arguments, so the first piece is always small.
  uint64_t piece = code.pace() ? std::clamp<uint64_t>(kPiece / pace, 1, std::max<uint64_t>(groups / 8, 1)) : 1;
  // One group cannot be shared, and is timed only now and then.
  static thread_local uint8_t untimed __attribute__((tls_model("initial-exec"))) = 0;
  if (groups == 1 && code.pace_known() && pace < kBrief && ++untimed % 16) {
    run_groups(running, 0, 1);
    busy.add(pace / 1000);
    return 0;
  }
  // Few long groups: while one thread measured the first, the others would be idle.
  if (settings.threads > 1 && groups > 1 && groups <= settings.threads * 64 && code.pace_known() && pace > kPiece) {
    busy.begin(now_ns());
    spent = share_out(running, code, 0, groups, pace);
    busy.end(now_ns());
    done = groups;
  }
  while (done < groups) {
    const uint64_t last = done + std::min(piece, groups - done);
    const uint64_t start = now_ns();
    if (done == 0) busy.begin(start);
    run_groups(running, done, last);
    const uint64_t end = now_ns(), took = end - start;
    pace = std::max<uint64_t>(times(took, 1000) / (last - done), 1);
    spent += took;
    done = last;
    const uint64_t left = groups - done;
    const bool telling = times(took, 1000) >= kTelling;
    if (settings.threads > 1 && left > 1 && telling && times(pace, left) > kWorthSharing) {
      spent += share_out(running, code, done, groups, pace);
      busy.end(now_ns());
      break;
    }
    if (left == 0) busy.end(end);
    piece = std::clamp<uint64_t>((telling ? kPiece : kTelling) / pace + 1, 1, times(piece, 16));
  }
  const uint64_t* global = running.grid.global_size;
  const double all = static_cast<double>(global[0]) * static_cast<double>(global[1]) * static_cast<double>(global[2]);
  code.learn_pace(static_cast<uint64_t>(static_cast<double>(spent) * 1000 / all) + 1);
  return spent;
}

// Exchanges x with the dimension along which lanes should be neighbours, where a launch has enough work-items there.
void exchange_dimensions(Grid& grid, const Code& code) {
  constexpr uint64_t kUsualLanes = 16;
  const unsigned along = code.lane_dimension();
  if (grid.global_size[along] < std::min<uint64_t>(code.lanes(), kUsualLanes) / 2) return;
  for (uint64_t* each : {grid.group_count, grid.group_size, grid.global_offset, grid.global_size}) std::swap(each[0], each[along]);
  grid.lane_dimension = along;
}

// Cuts a launch of one dimension into rows of the length by which the kernel divides its id, where they fill it.
void cut_into_rows(Grid& grid, const Code& code, const unsigned char* args) {
  const uint64_t *size = grid.global_size, *offset = grid.global_offset;
  if (size[1] != 1 || size[2] != 1 || (offset[0] | offset[1] | offset[2]) || size[0] > INT32_MAX) return;
  RowLengths rows{0, size[0]};
  code.find_rows(args, &rows);
  const auto [length, items] = rows;
  if (length < std::max<uint64_t>(code.lanes(), 2) || items == 0 || items > size[0] || items % length || items == length) return;
  grid.global_size[0] = grid.row_length = length;
  grid.global_size[1] = items / length;
  // Without blocks of the engine's choice, a row is a group.
  grid.group_size[0] = length;
  grid.group_count[0] = 1;
  grid.group_count[1] = items / length;
}

[[gnu::noinline]] void prepare_watched(RunningLaunch& running, const Launch& launch, const Code& code) {
  if (code.checked()) prepare_checks(running, launch);
  if (code.noted())
    prepare_notes(running, launch);
  else if (is_checked(kCheckInit))
    note_unchecked_launch(launch);
}

void run(const Launch& launch, Busy& busy, const Reach* reach) {
  RunningLaunch running;
  running.reach = reach;
  uint32_t count[3];
  std::copy_n(launch.group_count, 3, count);
  if (launch.count_at) {
    static_assert(sizeof count == sizeof *launch.count_at);
    std::memcpy(count, launch.count_at, sizeof count);
  }
  uint64_t groups;
  if (!count_groups(count, &groups)) raise({.signal = Fault::kTooManyGroups});
  if (groups == 0) return;
  Code& code = launch.code->current_for(launch.group_size);
  running.args = launch.args();
  running.entry = code.entry();
  running.code = &code;
  running.local_bytes = launch.local_bytes;
  running.grid.dimensions = 1;
  running.grid.strip = count[0];
  running.grid.lane_dimension = 0;
  running.grid.row_length = 0;
  for (unsigned i = 0; i < 3; ++i) {
    running.grid.group_count[i] = count[i];
    running.grid.group_size[i] = launch.group_size[i];
    running.grid.global_offset[i] = launch.global_offset[i];
    running.grid.global_size[i] = uint64_t{count[i]} * launch.group_size[i];
    if (running.grid.global_size[i] != 1) running.grid.dimensions = i + 1;
  }
  if (code.watched())
    prepare_watched(running, launch, code);
  else if (is_checked(kCheckInit)) [[unlikely]]
    note_unchecked_launch(launch);
  if (settings.kernel_timeout_ms) {
    start_watchdog();
    running.limit.deadline = now_ns() + settings.kernel_timeout_ms * 1'000'000;
  }
  const bool together = launch.flags & Launch::kCooperative;
  const bool unaliased =
      code.has_unaliased_version() && are_unaliased(launch.args(), code.facts().separate_writes, code.facts().separate_reads);
  running.grid.unaliased = unaliased;
  const bool exchanges = code.lane_dimension() && (unaliased || !code.has_unaliased_version());
  if (exchanges && !together) exchange_dimensions(running.grid, code);
  if (code.has_version_for_rows() && !together) cut_into_rows(running.grid, code, launch.args());
  const uint64_t pieces = code.flat() && !together ? choose_blocks(running.grid, code, groups) : groups;
  running.scratch_bytes = code.scratch_bytes(running.grid.group_size);
  if (together) {
    const uint64_t begin = now_ns();
    busy.begin(begin);
    run_together(running, groups);
    const uint64_t end = now_ns();
    busy.end(end);
    launch.code->note_work(end - begin, launch.group_size);
  } else {
    running.turns = {launch.args(), count, launch.group_size, launch.global_offset};
    // A kernel that waits for other groups may rely on the order of group numbers.
    if (!code.flat() && !code.may_wait()) choose_strip(running.grid);
    const uint64_t spent = run_adaptively(running, code, pieces, busy);
    if (spent) code.learn_end(running.turns, spent);
    const uint64_t* size = running.grid.global_size;
    launch.code->note_work(spent ? spent : times(times(code.pace(), size[0]), size[1] * size[2]) / 1000, launch.group_size);
  }
  if (running.notes) finish_notes(running);
}

}  // namespace

void run_groups(RunningLaunch& running, uint64_t first, uint64_t last) {
  RunningWorker worker;
  void* stack = provide_memory(running.local_bytes, running.scratch_bytes, &worker);
  if (!stack) raise({.signal = Fault::kNoMemory});
  worker.launch = &running;
  worker.reached.count = worker.reached.next = 0;
  UsualRounding rounding;
  const SampledRun sampled(running.code, worker);
  if (running.limited()) {
    if (int how = running.limit.passed()) raise({.signal = how});
    Watched watched(running.limit);
    run_kernel(running.entry, running.args, &running.grid, first, last, &worker, stack);
  } else {
    run_kernel(running.entry, running.args, &running.grid, first, last, &worker, stack);
  }
}

void run_launches(const LaunchPacket& packet, const Context& context, const Device& device, Busy& busy) {
  uint64_t enabled = packet.count;
  if (packet.enabled_at) enabled = std::min<uint64_t>(enabled, *packet.enabled_at);
  const Launch* launch = packet.first();
  for (uint64_t i = 0; i < enabled; ++i, launch = launch->next()) {
    if (device.pages_on_demand()) {
      run(*launch, busy, nullptr);
    } else {
      const Reach reach{context, device, *launch};
      run(*launch, busy, &reach);
    }
  }
}

uint64_t cost_of(const LaunchPacket& packet) {
  const Launch& launch = *packet.first();
  if (packet.count != 1 || launch.count_at) return kUnknown;
  return cost_of_launch(*launch.code, {launch.args(), launch.group_count, launch.group_size, launch.global_offset}, launch.flags);
}

uint64_t cost_of_launch(const Code& first, const TurnsSource& launch, uint32_t flags) {
  const Code& code = first.current_for(launch.group_size);
  const uint64_t pace = code.pace();
  uint64_t groups;
  if (pace == 0 || (flags & Launch::kCooperative) || !count_groups(launch.group_count, &groups)) return kUnknown;
  if (!code.ends_soon(launch)) return kUnknown;
  uint64_t items = uint64_t{launch.group_size[0]} * launch.group_size[1] * launch.group_size[2];
  if (__builtin_mul_overflow(items, groups, &items)) return kUnknown;
  return 20 + times(pace, items) / 1000;
}

uint32_t most_cooperative_groups() {
  constexpr uint64_t kFewest = 16, kMost = 256;
  return static_cast<uint32_t>(std::clamp(settings.threads, kFewest, kMost));
}

bool count_groups(const uint32_t* count, uint64_t* groups) {
  constexpr uint64_t kMost = uint64_t{1} << 62;
  return !__builtin_mul_overflow(uint64_t{count[0]} * count[1], uint64_t{count[2]}, groups) && *groups <= kMost;
}

}  // namespace anyzero
