#include "packet.h"

#include <cstdio>
#include <cstring>

#include "../objects/images/image.h"
#include "../objects/images/sampler.h"
#include "../objects/sync/event.h"
#include "../objects/sync/external_semaphore.h"
#include "../objects/sync/fence.h"
#include "code.h"
#include "program.h"
#include "ring.h"

namespace anyzero {

namespace {

template <class Visit>
void for_each_held(Launch& launch, Visit visit) {
  visit(*launch.code);
  for (uint32_t i = 0; i < launch.n_images; ++i)
    if (launch.images()[i]) visit(*launch.images()[i]);
  for (uint32_t i = 0; i < launch.n_samplers; ++i)
    if (launch.samplers()[i]) visit(*launch.samplers()[i]);
}

template <class Visit>
void for_each_held(Packet& packet, Visit visit) {
  if (packet.signal) visit(*packet.signal);
  switch (packet.op) {
    case Op::CopyBoxes:
      for (Image* image : static_cast<CopyBoxesPacket&>(packet).images)
        if (image) visit(*image);
      break;
    case Op::Launch:
      for_each_launch(static_cast<LaunchPacket&>(packet), [&](Launch& launch) { for_each_held(launch, visit); });
      break;
    case Op::Reset:
      visit(*static_cast<ResetPacket&>(packet).event);
      break;
    case Op::QueryTimestamps: {
      auto& p = static_cast<QueryTimestampsPacket&>(packet);
      for (uint32_t i = 0; i < p.count; ++i) visit(*p.events()[i]);
      break;
    }
    case Op::Infer:
      visit(*static_cast<InferPacket&>(packet).inference);
      break;
    case Op::Execute: {
      auto& p = static_cast<ExecutePacket&>(packet);
      for (uint64_t i = 0; i < p.count; ++i) visit(*p.programs()[i]);
      break;
    }
    case Op::SignalFence:
      visit(*static_cast<SignalFencePacket&>(packet).fence);
      break;
    case Op::SignalSemaphores:
    case Op::AwaitSemaphores: {
      auto& p = static_cast<SemaphorePacket&>(packet);
      for (uint64_t i = 0; i < p.count; ++i) {
        visit(*p.uses()[i].semaphore);
        if (p.uses()[i].arrival) visit(*p.uses()[i].arrival);
      }
      break;
    }
    default:
      break;
  }
}

void describe(const LaunchPacket& packet, char* text, size_t size) {
  const Launch& launch = *packet.first();
  if (packet.count > 1) {
    std::snprintf(text, size, "up to %llu kernels, the first of them %s", static_cast<unsigned long long>(packet.count),
                  launch.code->facts().name.c_str());
    return;
  }
  const uint32_t *count = launch.group_count, *group = launch.group_size;
  int used = std::snprintf(text, size, "kernel %s, ", launch.code->facts().name.c_str());
  if (used < 0 || static_cast<size_t>(used) >= size) return;
  text += used;
  size -= static_cast<size_t>(used);
  if (launch.count_at) {
    std::snprintf(text, size, "groups of %u x %u x %u, their number read from %p", group[0], group[1], group[2],
                  static_cast<const void*>(launch.count_at));
  } else {
    std::snprintf(text, size, "%u x %u x %u groups of %u x %u x %u", count[0], count[1], count[2], group[0], group[1], group[2]);
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

void hold(Launch& launch) {
  for_each_held(launch, [](auto& object) { object.retain(); });
}

void let_go(Launch& launch) {
  for_each_held(launch, [](auto& object) { object.release(); });
}

Awaited awaited(const WaitFor& wait) {
  if (wait.point.ring) return {&wait.point.ring->completed(), wait.point.position};
  if (!wait.event) return {nullptr, 0};
  // A counting event without a ring belongs to another process.
  return {&wait.event->signal(), wait.event->counts() ? wait.point.position : 1};
}

const WaitFor& settled(const WaitFor& written, const WaitFor** targets) {
  return targets && *targets && settled_at_execution(written) ? *(*targets)++ : written;
}

void hold(const WaitFor& wait) {
  if (wait.event) wait.event->retain();
  if (wait.point.ring) wait.point.ring->retain();
}

void let_go(const WaitFor& wait) {
  if (wait.event) wait.event->release();
  if (wait.point.ring) wait.point.ring->release();
}

bool reaches_all_of(uint32_t indirect, ze_memory_type_t type) {
  switch (type) {
    case ZE_MEMORY_TYPE_DEVICE:
      return indirect & ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE;
    case ZE_MEMORY_TYPE_SHARED:
      return indirect & ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED;
    case ZE_MEMORY_TYPE_HOST:
    case ZE_MEMORY_TYPE_HOST_IMPORTED:
      return indirect & ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST;
    default:
      return indirect != 0;
  }
}

bool names(const Launch& launch, const MemoryRange& range) {
  if (launch.indirect && reaches_all_of(launch.indirect, range.type)) return true;
  auto inside = [&](const void* at) { return range.contains(reinterpret_cast<uintptr_t>(at)); };
  if (launch.count_at && inside(launch.count_at)) return true;
  for (const Argument& argument : launch.code->facts().arguments) {
    if (!argument.pointer()) continue;
    const void* address;
    std::memcpy(&address, launch.args() + argument.offset, sizeof address);
    if (inside(address)) return true;
  }
  for (uint32_t i = 0; i < launch.n_images; ++i)
    if (const Image* image = launch.images()[i]; image && inside(image->view().planes[0].base)) return true;
  return false;
}

bool names(const Packet& packet, const MemoryRange& range) {
  auto meets = [&](const void* at, size_t bytes) {
    uintptr_t first = reinterpret_cast<uintptr_t>(at);
    return first < range.end && range.begin < first + bytes;
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
    case Op::Launch: {
      auto& p = static_cast<const LaunchPacket&>(packet);
      bool named = p.enabled_at && meets(p.enabled_at, sizeof *p.enabled_at);
      for_each_launch(p, [&](const Launch& launch) { named = named || names(launch, range); });
      return named;
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
    case Op::Infer:
      return static_cast<const InferPacket&>(packet).inference->uses(range.begin, range.end);
    case Op::Execute: {
      auto& p = static_cast<const ExecutePacket&>(packet);
      for (uint32_t n = 0; n < p.count; ++n) {
        Cursor at{p.programs()[n]->stream().first()};
        for (uint64_t i = 0; i < p.programs()[n]->count(); ++i) {
          const Packet& inner = at.packet();
          if (names(inner, range)) return true;
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
    case Op::Launch:
      describe(static_cast<const LaunchPacket&>(packet), text, size);
      return;
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
    case Op::Infer:
      std::snprintf(text, size, "an inference of graph %s", static_cast<const InferPacket&>(packet).inference->name());
      return;
    case Op::Execute:
      std::snprintf(text, size, "the execution of a command list");
      return;
    case Op::SignalFence:
      std::snprintf(text, size, "a fence signal");
      return;
    case Op::SignalSemaphores:
      std::snprintf(text, size, "a signal of external semaphores");
      return;
    case Op::AwaitSemaphores:
      std::snprintf(text, size, "a wait for external semaphores");
      return;
  }
}

}  // namespace anyzero
