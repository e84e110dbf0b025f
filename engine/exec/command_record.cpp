// Commands in recordings: the work of an engine, its list or queue, and its waits.
#include <cstring>
#include <iterator>
#include <utility>

#include "../objects/devices/device.h"
#include "../objects/sync/event.h"
#include "../objects/sync/fence.h"
#include "../trace/recording.h"
#include "code.h"
#include "engine.h"
#include "processor.h"

namespace anyzero {

namespace {

constexpr bool same(Op op, TraceCommand command) { return static_cast<uint32_t>(op) == static_cast<uint32_t>(command); }
static_assert(same(Op::Barrier, TraceCommand::Barrier) && same(Op::Copy, TraceCommand::Copy) &&
              same(Op::Fill, TraceCommand::Fill) && same(Op::CopyBoxes, TraceCommand::CopyRegion) &&
              same(Op::Launch, TraceCommand::Launch) && same(Op::Reset, TraceCommand::ResetEvent) &&
              same(Op::Timestamp, TraceCommand::Timestamp) && same(Op::QueryTimestamps, TraceCommand::QueryTimestamps) &&
              same(Op::Prefetch, TraceCommand::Prefetch) && same(Op::Advise, TraceCommand::MemoryAdvice) &&
              same(Op::HostFunction, TraceCommand::HostFunction) && same(Op::Infer, TraceCommand::Inference) &&
              same(Op::Execute, TraceCommand::Execute) && same(Op::SignalFence, TraceCommand::Fence) &&
              same(Op::SignalSemaphores, TraceCommand::Semaphore) && same(Op::AwaitSemaphores, TraceCommand::AwaitSemaphore));

constexpr size_t kLastValue = std::size(TraceRecord{}.values) - 1;

void set_bytes(TraceRecord& record, uint64_t bytes) {
  record.holds = static_cast<uint8_t>(TraceHolds::Bytes);
  record.values[0] = bytes;
}

void set_groups(TraceRecord& record, const Launch& launch) {
  const uint32_t* groups = launch.count_at ? &launch.count_at->groupCountX : launch.group_count;
  constexpr size_t half = 3 * sizeof(uint32_t);
  record.holds = static_cast<uint8_t>(TraceHolds::Groups);
  std::memcpy(record.values, groups, half);
  std::memcpy(reinterpret_cast<unsigned char*>(record.values) + half, launch.group_size, half);
}

// The time that an event has kept the next command waiting.
void record_wait(Recorder& of, uint64_t since, uint64_t until, const Event* event) {
  TraceRecord& record = of.next();
  record = {};
  record.kind = static_cast<uint8_t>(TraceKind::Wait);
  record.start = since;
  record.end = until;
  record.values[0] = reinterpret_cast<uintptr_t>(event);
  of.complete();
}

uint64_t bytes_of(const CopyBoxesPacket& packet) {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < packet.count; ++i) bytes += packet.boxes()[i].row * packet.boxes()[i].rows * packet.boxes()[i].slices;
  return bytes;
}

[[gnu::noinline]] void complete_named(Recorder& of, TraceRecord& record, const Launch& launch) {
  record.what = 1 + static_cast<uint32_t>(of.place_of_name(launch.code->number(), launch.code->facts().name));
  of.complete();
}

[[gnu::noinline]] void complete_rare(Recorder& of, TraceRecord& record, const Packet& packet) {
  if (packet.op == Op::Infer) {
    const InferenceRun* inference = static_cast<const InferPacket&>(packet).inference;
    record.what = 1 + static_cast<uint32_t>(of.place_of_name(inference, inference->name()));
    set_bytes(record, inference->bytes());
  } else if (packet.op == Op::CopyBoxes) {
    set_bytes(record, bytes_of(static_cast<const CopyBoxesPacket&>(packet)));
  } else {
    record.values[kLastValue] = reinterpret_cast<uintptr_t>(static_cast<const SignalFencePacket&>(packet).fence);
  }
  of.complete();
}

}  // namespace

// One branch for most commands, and nothing to be called, so that few registers need saving.
void Walk::record(const Packet& packet, uint64_t start) {
  const uint64_t end = recorded_until = ticks();
  Recorder* of = own_recorder;
  if (!is_ready(of) || !of->knows(ring.described_in_) || ring.blocked_since_) [[unlikely]]
    return record_first(packet, start, end);
  record_by(*of, packet, start, end);
}

// The first command of a thread or a queue, or one that an event has kept waiting.
void Walk::record_first(const Packet& packet, uint64_t start, uint64_t end) {
  Recorder* of = recorder();
  if (!of) return;
  if (!of->knows(ring.described_in_)) of->describe_queue(ring.described_in_, ring.number(), ring.engine_.number(), &ring.device_);
  if (const uint64_t since = std::exchange(ring.blocked_since_, 0)) record_wait(*of, since, start, ring.blocked_on_.event);
  record_by(*of, packet, start, end);
}

[[gnu::always_inline]] inline void Walk::record_by(Recorder& of, const Packet& packet, uint64_t start, uint64_t end) const {
  TraceRecord& record = of.next();
  record.start = start;
  record.end = end;
  record.kind = static_cast<uint8_t>(TraceKind::Command);
  record.holds = static_cast<uint8_t>(TraceHolds::Nothing);
  record.which = static_cast<uint16_t>(packet.op);
  record.what = 0;
  const uint64_t before = ring.done_ + (ring.inside_ ? ring.inner_before_ + ring.inner_done_ : 0);
  record.command = command_number(ring.number(), before + 1);
  record.values[kLastValue] = reinterpret_cast<uintptr_t>(packet.signal);
  switch (packet.op) {
    case Op::Launch: {
      auto& launches = static_cast<const LaunchPacket&>(packet);
      if (!launches.count) break;
      const Launch& launch = *launches.first();
      const uint64_t place = of.known_place(launch.code->number());
      set_groups(record, launch);
      if (!place) [[unlikely]]
        return complete_named(of, record, launch);
      record.what = 1 + static_cast<uint32_t>(place);
      break;
    }
    case Op::Copy:
      set_bytes(record, static_cast<const CopyPacket&>(packet).bytes);
      break;
    case Op::Fill:
      set_bytes(record, static_cast<const FillPacket&>(packet).bytes);
      break;
    case Op::CopyBoxes:
    case Op::Infer:
    case Op::SignalFence:
      return complete_rare(of, record, packet);
    default:
      break;
  }
  of.complete();
}

}  // namespace anyzero
