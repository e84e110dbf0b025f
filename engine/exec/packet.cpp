#include "packet.h"

#include <cstdio>

#include "../objects/event.h"
#include "../objects/fence.h"
#include "../objects/image.h"
#include "program.h"
#include "ring.h"

namespace anyzero {

namespace {

template <class Visit>
void for_each_held(Packet& packet, Visit visit) {
  if (packet.signal) visit(*packet.signal);
  switch (packet.op) {
    case Op::CopyBoxes:
      for (Image* image : static_cast<CopyBoxesPacket&>(packet).images)
        if (image) visit(*image);
      break;
    case Op::Reset:
      visit(*static_cast<ResetPacket&>(packet).event);
      break;
    case Op::QueryTimestamps: {
      auto& p = static_cast<QueryTimestampsPacket&>(packet);
      for (uint32_t i = 0; i < p.count; ++i) visit(*p.events()[i]);
      break;
    }
    case Op::Execute: {
      auto& p = static_cast<ExecutePacket&>(packet);
      for (uint64_t i = 0; i < p.count; ++i) visit(*p.programs()[i]);
      break;
    }
    case Op::SignalFence:
      visit(*static_cast<SignalFencePacket&>(packet).fence);
      break;
    default:
      break;
  }
}

}  // namespace

void hold(Packet& packet) {
  for_each_held(packet, [](auto& object) { object.retain(); });
}

void let_go(Packet& packet) {
  for (uint32_t i = 0; i < packet.n_waits; ++i) let_go(packet.waits()[i]);
  if (packet.op == Op::Execute) {
    auto& execute = static_cast<ExecutePacket&>(packet);
    for (uint32_t i = 0; i < execute.n_targets; ++i) let_go(execute.targets()[i]);
  }
  for_each_held(packet, [](auto& object) { object.release(); });
}

Awaited awaited(const WaitFor& wait) {
  if (wait.point.ring) return {&wait.point.ring->completed(), wait.point.position};
  if (!wait.event) return {nullptr, 0};
  // A counting event by itself is one of another process, whose ring is not here.
  return {&wait.event->signal(), wait.event->counts() ? wait.point.position : 1};
}

void hold(const WaitFor& wait) {
  if (wait.event) wait.event->retain();
  if (wait.point.ring) wait.point.ring->retain();
}

void let_go(const WaitFor& wait) {
  if (wait.event) wait.event->release();
  if (wait.point.ring) wait.point.ring->release();
}

bool names(const Packet& packet, uintptr_t begin, uintptr_t end) {
  auto meets = [&](const void* at, size_t bytes) {
    uintptr_t first = reinterpret_cast<uintptr_t>(at);
    return first < end && begin < first + bytes;
  };
  auto box_meets = [&](const Box& box, const BoxCopy& copy) {
    return meets(box.base, (copy.slices - 1) * box.slice_pitch + (copy.rows - 1) * box.row_pitch + copy.row);
  };
  switch (packet.op) {
    case Op::Copy: {
      auto& p = static_cast<const CopyPacket&>(packet);
      return meets(p.to, p.bytes) || meets(p.from, p.bytes);
    }
    case Op::Fill: {
      auto& p = static_cast<const FillPacket&>(packet);
      return meets(p.to, p.bytes);
    }
    case Op::CopyBoxes: {
      auto& p = static_cast<const CopyBoxesPacket&>(packet);
      for (uint64_t i = 0; i < p.count; ++i)
        if (box_meets(p.boxes()[i].to, p.boxes()[i]) || box_meets(p.boxes()[i].from, p.boxes()[i])) return true;
      return false;
    }
    case Op::Timestamp:
      return meets(static_cast<const TimestampPacket&>(packet).to, sizeof(uint64_t));
    case Op::QueryTimestamps: {
      auto& p = static_cast<const QueryTimestampsPacket&>(packet);
      for (uint32_t i = 0; i < p.count; ++i)
        if (meets(p.to + (p.has_offsets ? p.offsets()[i] : i * sizeof(ze_kernel_timestamp_result_t)),
                  sizeof(ze_kernel_timestamp_result_t)))
          return true;
      return false;
    }
    case Op::Prefetch:
    case Op::Advise: {
      auto& p = static_cast<const MemoryHintPacket&>(packet);
      return meets(p.at, p.bytes);
    }
    case Op::Execute: {
      auto& p = static_cast<const ExecutePacket&>(packet);
      for (uint32_t n = 0; n < p.count; ++n) {
        Cursor at{p.programs()[n]->stream().first()};
        for (uint64_t i = 0; i < p.programs()[n]->count(); ++i) {
          const Packet& inner = at.packet();
          if (names(inner, begin, end)) return true;
          at.advance(inner);
        }
      }
      return false;
    }
    default:
      return false;
  }
}

void describe(const Packet& packet, char* text, size_t size) {
  switch (packet.op) {
    case Op::Copy: {
      auto& p = static_cast<const CopyPacket&>(packet);
      std::snprintf(text, size, "a memory copy of %zu bytes from %p to %p", p.bytes, p.from, p.to);
      return;
    }
    case Op::Fill: {
      auto& p = static_cast<const FillPacket&>(packet);
      std::snprintf(text, size, "a memory fill of %zu bytes at %p", p.bytes, p.to);
      return;
    }
    case Op::CopyBoxes: {
      auto& p = static_cast<const CopyBoxesPacket&>(packet);
      const BoxCopy& box = p.boxes()[0];
      std::snprintf(text, size, "a%s region copy of %zu x %zu x %zu (bytes, rows, slices) from %p to %p",
                    p.images[0] || p.images[1] ? "n image" : " memory", box.row, box.rows, box.slices,
                    static_cast<void*>(box.from.base), static_cast<void*>(box.to.base));
      return;
    }
    case Op::Timestamp:
      std::snprintf(text, size, "a timestamp write to %p", static_cast<void*>(static_cast<const TimestampPacket&>(packet).to));
      return;
    case Op::QueryTimestamps:
      std::snprintf(text, size, "a timestamp query to %p",
                    static_cast<void*>(static_cast<const QueryTimestampsPacket&>(packet).to));
      return;
    case Op::Barrier:
      std::snprintf(text, size, "a barrier or event command");
      return;
    case Op::Reset:
      std::snprintf(text, size, "an event reset");
      return;
    case Op::Prefetch:
      std::snprintf(text, size, "a memory prefetch");
      return;
    case Op::Advise:
      std::snprintf(text, size, "a memory advice");
      return;
    case Op::HostFunction:
      std::snprintf(text, size, "a host function");
      return;
    case Op::Execute:
      std::snprintf(text, size, "the execution of a command list");
      return;
    case Op::SignalFence:
      std::snprintf(text, size, "a fence signal");
      return;
  }
}

}  // namespace anyzero
