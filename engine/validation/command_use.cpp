#include "command_use.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "../exec/code.h"
#include "../exec/ring.h"
#include "../objects/sync/event.h"

namespace anyzero {

namespace {

const std::string* kept_name(const std::string& name) {
  static auto* all = new std::set<std::string>;  // under the lock of the order of commands
  return &*all->insert(name).first;
}

void add(CommandUse& use, const void* at, uint64_t bytes, bool writes) {
  const auto begin = reinterpret_cast<uintptr_t>(at);
  if (at && bytes) use.spans.push_back({begin, begin + bytes, writes});
}

// Rows of a box, as far as few spans can tell: bytes between rows belong to others.
void add_box(CommandUse& use, const Box& box, const BoxCopy& copy, bool writes) {
  constexpr size_t kMostRows = 32;
  if (!copy.row || !copy.rows || !copy.slices) return;
  if (box.row_pitch == copy.row && (copy.slices == 1 || box.slice_pitch == copy.row * copy.rows))
    return add(use, box.base, copy.row * copy.rows * copy.slices, writes);
  size_t added = 0;
  for (size_t slice = 0; slice < copy.slices; ++slice)
    for (size_t row = 0; row < copy.rows; ++row)
      if (added++ < kMostRows) add(use, box.base + slice * box.slice_pitch + row * box.row_pitch, copy.row, writes);
}

bool is_positive(const unsigned char* at, uint32_t size) {
  int64_t value = 0;
  if (!size || size > sizeof value) return false;
  std::memcpy(&value, at, size);
  return value > 0 && !(value >> (8 * size - 1) & 1);
}

// The value of an integer argument; 0 where it is negative.
uint64_t number_at(const unsigned char* at, uint32_t size) {
  if (!is_positive(at, size)) return 0;
  uint64_t value = 0;
  std::memcpy(&value, at, size);
  return value;
}

// The number of work-items (x, 0, 0) that are certain to write.
uint64_t leading_items(const Launch& launch, const KernelFacts& facts) {
  uint64_t items = uint64_t{launch.group_count[0]} * launch.group_size[0];
  for (const IntegerArgument& each : facts.leading_below)
    items = std::min(items, number_at(launch.args() + each.offset, each.size));
  return items;
}

// Bytes that the first work-item accesses right where arguments point to, and those that the ones behind it in its row write right
// behind them. All other accesses depend on values that the kernel computes.
void add_launch(CommandUse& use, const LaunchPacket& packet) {
  if (!packet.count) return;
  add_group_counts(use, packet);
  const Launch& launch = *packet.first();
  const KernelFacts& facts = launch.code->facts();
  use.name.kernel = kept_name(facts.name);
  const bool known = packet.count == 1 && !packet.enabled_at && !launch.count_at && !(facts.flags & KernelFlag::kWaits);
  const uint32_t *count = launch.group_count, *offset = launch.global_offset;
  if (!known || !count[0] || !count[1] || !count[2] || offset[0] || offset[1] || offset[2]) return;
  for (const Argument& each : facts.arguments)
    if (each.kind == ArgumentKind::Value && (each.access & ArgumentUse::kFirstNeedsPositive) &&
        !is_positive(launch.args() + each.offset, each.size))
      return;
  for (const Argument& each : facts.arguments) {
    if (!each.pointer()) continue;
    const void* at;
    std::memcpy(&at, launch.args() + each.offset, sizeof at);
    if (each.access & ArgumentUse::kFirstWrites) {
      add(use, at, 1, true);
    } else if (each.access & ArgumentUse::kFirstReads) {
      add(use, at, 1, false);
    }
  }
  const uint64_t items = leading_items(launch, facts);
  if (items > kMostLeadingItems) return;
  for (const LeadingWrites& each : facts.leading_writes) {
    const void* at;
    std::memcpy(&at, launch.args() + each.offset, sizeof at);
    add(use, at, items * each.bytes, true);
  }
}

void add_timestamps(CommandUse& use, const QueryTimestampsPacket& packet) {
  constexpr size_t kEach = sizeof(ze_kernel_timestamp_result_t);
  use.name.bytes = packet.count * kEach;
  for (uint32_t i = 0; i < packet.count; ++i)
    add(use, packet.to + (packet.has_offsets ? packet.offsets()[i] : i * kEach), kEach, true);
}

void add_memory(CommandUse& use, const Packet& packet) {
  switch (packet.op) {
    case Op::Copy: {
      auto& copy = static_cast<const CopyPacket&>(packet);
      use.name.bytes = copy.bytes;
      add(use, copy.from, copy.bytes, false);
      return add(use, copy.to, copy.bytes, true);
    }
    case Op::Fill: {
      auto& fill = static_cast<const FillPacket&>(packet);
      use.name.bytes = fill.bytes;
      return add(use, fill.to, fill.bytes, true);
    }
    case Op::CopyBoxes: {
      auto& boxes = static_cast<const CopyBoxesPacket&>(packet);
      for (uint64_t i = 0; i < boxes.count; ++i) {
        const BoxCopy& box = boxes.boxes()[i];
        use.name.bytes += box.row * box.rows * box.slices;
        add_box(use, box.from, box, false);
        add_box(use, box.to, box, true);
      }
      return;
    }
    case Op::Launch:
      return add_launch(use, static_cast<const LaunchPacket&>(packet));
    case Op::Timestamp:
      use.name.bytes = sizeof(uint64_t);
      return add(use, static_cast<const TimestampPacket&>(packet).to, sizeof(uint64_t), true);
    case Op::QueryTimestamps:
      return add_timestamps(use, static_cast<const QueryTimestampsPacket&>(packet));
    default:
      return;
  }
}

}  // namespace

void add_group_counts(CommandUse& use, const LaunchPacket& packet) {
  add(use, packet.enabled_at, sizeof *packet.enabled_at, false);
  const Launch* launch = packet.first();
  for (uint64_t i = 0; i < packet.count; ++i, launch = launch->next()) add(use, launch->count_at, sizeof *launch->count_at, false);
}

std::string CommandName::text() const {
  const std::string size = std::to_string(bytes) + " bytes";
  std::string what;
  switch (op) {
    case Op::Copy:
      what = "a memory copy of " + size;
      break;
    case Op::Fill:
      what = "a memory fill of " + size;
      break;
    case Op::CopyBoxes:
      what = "a region or image copy of " + size;
      break;
    case Op::Launch:
      what = "kernel " + *kernel;
      break;
    default:
      what = "a timestamp write";
      break;
  }
  return what + ", command " + std::to_string(position) + " of queue " + std::to_string(ring);
}

void read_command_use(const Packet& packet, const WaitFor** targets, CommandUse& use) {
  use.clear();
  use.name.op = packet.op;
  for (uint32_t i = 0; i < packet.n_waits; ++i) {
    const WaitFor& wait = settled(packet.waits()[i], targets);
    if (wait.point.ring) {
      use.waits.push_back({nullptr, wait.point.ring->number(), wait.point.position});
    } else if (wait.event) {
      use.unknown = use.unknown || wait.event->shared() || wait.event->counts();
      use.waits.push_back({wait.event, 0, 0});
    }
  }
  // The points that counting events stand for are in the waits.
  if (packet.signal && !packet.signal->counts()) {
    use.signals = packet.signal;
    use.scopes = packet.signal->signal_scope() | packet.signal->wait_scope();
  }
  if (packet.op == Op::Reset) use.resets = static_cast<const ResetPacket&>(packet).event;
  use.tells_host = packet.op == Op::HostFunction;
  use.unknown = use.unknown || packet.op == Op::AwaitSemaphores;
  add_memory(use, packet);
}

}  // namespace anyzero
