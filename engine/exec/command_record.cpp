// Commands in recordings: the work of an engine, its list or queue, and its waits.
#include <cstring>
#include <iterator>

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

void set_bytes(TraceRecord& record, uint64_t bytes) {
  record.holds = static_cast<uint8_t>(TraceHolds::Bytes);
  record.values[0] = bytes;
}

void set_launch(TraceRecord& record, Recorder& of, const LaunchPacket& packet) {
  if (!packet.count) return;
  const Launch& launch = *packet.first();
  const uint32_t* groups = launch.count_at ? &launch.count_at->groupCountX : launch.group_count;
  constexpr size_t half = 3 * sizeof(uint32_t);
  record.holds = static_cast<uint8_t>(TraceHolds::Groups);
  record.what = 1 + static_cast<uint32_t>(of.place_of_name(launch.code->number(), launch.code->facts().name));
  std::memcpy(record.values, groups, half);
  std::memcpy(reinterpret_cast<unsigned char*>(record.values) + half, launch.group_size, half);
}

// The time that an event has kept the next command waiting.
[[gnu::noinline, gnu::cold]] void record_wait(Recorder& of, uint64_t since, uint64_t until, const Event* event) {
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

}  // namespace

void Walk::record(const Packet& packet, uint64_t start) {
  const uint64_t end = recorded_until = ticks();
  Recorder* of = recorder();
  if (!of) return;
  if (ring.blocked_since_) [[unlikely]] {
    record_wait(*of, ring.blocked_since_, start, ring.blocked_on_.event);
    ring.blocked_since_ = 0;
  }
  of->describe_queue(ring.described_in_, ring.number(), ring.engine_.number(), &ring.device_);
  TraceRecord& record = of->next();
  record.start = start;
  record.end = end;
  record.kind = static_cast<uint8_t>(TraceKind::Command);
  record.holds = static_cast<uint8_t>(TraceHolds::Nothing);
  record.which = static_cast<uint16_t>(packet.op);
  record.what = 0;
  const uint64_t before = ring.done_ + (ring.inside_ ? ring.inner_before_ + ring.inner_done_ : 0);
  record.command = command_number(ring.number(), before + 1);
  uint64_t& signal = record.values[std::size(record.values) - 1];
  signal = reinterpret_cast<uintptr_t>(packet.signal);
  switch (packet.op) {
    case Op::Launch:
      set_launch(record, *of, static_cast<const LaunchPacket&>(packet));
      break;
    case Op::Infer: {
      const InferenceRun* inference = static_cast<const InferPacket&>(packet).inference;
      record.what = 1 + static_cast<uint32_t>(of->place_of_name(inference, inference->name()));
      set_bytes(record, inference->bytes());
      break;
    }
    case Op::Copy:
      set_bytes(record, static_cast<const CopyPacket&>(packet).bytes);
      break;
    case Op::Fill:
      set_bytes(record, static_cast<const FillPacket&>(packet).bytes);
      break;
    case Op::CopyBoxes:
      set_bytes(record, bytes_of(static_cast<const CopyBoxesPacket&>(packet)));
      break;
    case Op::SignalFence:
      signal = reinterpret_cast<uintptr_t>(static_cast<const SignalFencePacket&>(packet).fence);
      break;
    default:
      break;
  }
  of->complete();
}

}  // namespace anyzero
