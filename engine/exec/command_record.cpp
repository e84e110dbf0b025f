// Commands in recordings: the work of an engine, its list or queue, and its waits.
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

class Facts {
 public:
  explicit Facts(TraceRecord& record) : record_(record) {}
  uint64_t& operator[](TraceValue value) { return record_.values[static_cast<uint32_t>(value)]; }

 private:
  TraceRecord& record_;
};

// In the order of Op.
constexpr const char* kNames[] = {
    "barrier",  "copy",          "fill",          "copy region", "launch",  "reset event", "timestamp", "query timestamps",
    "prefetch", "memory advice", "host function", "inference",   "execute", "fence",       "semaphore", "await semaphore",
};
static_assert(std::size(kNames) == static_cast<size_t>(Op::AwaitSemaphores) + 1);

void add_launch(Recorder& of, Facts& facts, const LaunchPacket& packet) {
  if (!packet.count) return;
  const Launch& launch = *packet.first();
  const uint32_t* groups = launch.count_at ? &launch.count_at->groupCountX : launch.group_count;
  const uint64_t sizes[] = {launch.group_size[0], launch.group_size[1], launch.group_size[2]};
  facts[TraceValue::Name] = 1 + of.place_of_name(launch.code->number(), launch.code->facts().name);
  facts[TraceValue::Groups] = groups[0] | uint64_t{groups[1]} << 32;
  facts[TraceValue::GroupsZ] = groups[2];
  facts[TraceValue::GroupSize] = sizes[0] | sizes[1] << 21 | sizes[2] << 42;
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
  TraceRecord& record = of->next();
  clear(record);
  record.kind = static_cast<uint32_t>(TraceKind::Command);
  record.what = static_cast<uint32_t>(of->place_of_literal(kNames[static_cast<size_t>(packet.op)]));
  record.start = start;
  record.queue = ring.number();
  record.position = ring.done_ + (ring.inside_ ? ring.inner_before_ + ring.inner_done_ : 0) + 1;
  Facts facts(record);
  switch (packet.op) {
    case Op::Launch:
      add_launch(*of, facts, static_cast<const LaunchPacket&>(packet));
      break;
    case Op::Infer: {
      const InferenceRun* inference = static_cast<const InferPacket&>(packet).inference;
      facts[TraceValue::Name] = 1 + of->place_of_name(inference, inference->name());
      facts[TraceValue::Bytes] = inference->bytes();
      break;
    }
    case Op::Copy:
      facts[TraceValue::Bytes] = static_cast<const CopyPacket&>(packet).bytes;
      break;
    case Op::Fill:
      facts[TraceValue::Bytes] = static_cast<const FillPacket&>(packet).bytes;
      break;
    case Op::CopyBoxes:
      facts[TraceValue::Bytes] = bytes_of(static_cast<const CopyBoxesPacket&>(packet));
      break;
    case Op::SignalFence:
      facts[TraceValue::Signal] = reinterpret_cast<uintptr_t>(static_cast<const SignalFencePacket&>(packet).fence);
      break;
    default:
      break;
  }
  if (packet.signal) facts[TraceValue::Signal] = reinterpret_cast<uintptr_t>(packet.signal);
  if (ring.blocked_since_) {
    facts[TraceValue::WaitedSince] = ring.blocked_since_;
    facts[TraceValue::WaitedFor] = reinterpret_cast<uintptr_t>(ring.blocked_on_.event);
    ring.blocked_since_ = 0;
  }
  facts[TraceValue::Engine] = ring.engine_.number();
  facts[TraceValue::Device] = reinterpret_cast<uintptr_t>(&ring.device_);
  record.end = end;
  of->complete();
}

}  // namespace anyzero
