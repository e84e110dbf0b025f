// Commands in recordings: the work of an engine, its list or queue, and its waits.
#include <iterator>

#include "../objects/devices/device.h"
#include "../objects/sync/event.h"
#include "../objects/sync/fence.h"
#include "../trace/recording.h"
#include "code.h"
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

void add_launch(Facts& facts, const LaunchPacket& packet) {
  if (!packet.count) return;
  const Launch& launch = *packet.first();
  const uint32_t* groups = launch.count_at ? &launch.count_at->groupCountX : launch.group_count;
  const uint64_t sizes[] = {launch.group_size[0], launch.group_size[1], launch.group_size[2]};
  facts[TraceValue::Name] = 1 + place_of_name(launch.code, launch.code->facts().name);
  facts[TraceValue::Groups] = groups[0] | uint64_t{groups[1]} << 32;
  facts[TraceValue::GroupsZ] = groups[2];
  facts[TraceValue::GroupSize] = sizes[0] | sizes[1] << 21 | sizes[2] << 42;
}

uint64_t bytes_of(const CopyBoxesPacket& packet) {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < packet.count; ++i) bytes += packet.boxes()[i].row * packet.boxes()[i].rows * packet.boxes()[i].slices;
  return bytes;
}

uint64_t number_of(const Engine& engine, const Device& device) {
  for (uint64_t ordinal = 0; ordinal < device.groups().size(); ++ordinal) {
    const auto& engines = device.groups()[ordinal].engines;
    for (uint64_t index = 0; index < engines.size(); ++index)
      if (engines[index].get() == &engine) return ordinal | index << 32;
  }
  return 0;
}

}  // namespace

void Walk::record(const Packet& packet, uint64_t start) {
  const uint64_t end = ticks();
  TraceRecord* made = begin_record();
  if (!made) return;
  TraceRecord& record = *made;
  record = {};
  record.kind = static_cast<uint32_t>(TraceKind::Command);
  const char* const& name = kNames[static_cast<size_t>(packet.op)];
  record.what = static_cast<uint32_t>(place_of_name(&name, name));
  record.start = start;
  record.queue = ring.number();
  record.position = ring.done_ + (ring.inside_ ? ring.inner_before_ + ring.inner_done_ : 0) + 1;
  Facts facts(record);
  switch (packet.op) {
    case Op::Launch:
      add_launch(facts, static_cast<const LaunchPacket&>(packet));
      break;
    case Op::Infer: {
      const InferenceRun* inference = static_cast<const InferPacket&>(packet).inference;
      facts[TraceValue::Name] = 1 + place_of_name(inference, inference->name());
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
  facts[TraceValue::Engine] = number_of(ring.engine_, ring.device_);
  facts[TraceValue::Device] = reinterpret_cast<uintptr_t>(&ring.device_);
  record.end = end;
  complete_record();
}

}  // namespace anyzero
