#include "overlap.h"

#include <atomic>

#include "../objects/devices/device.h"
#include "../objects/memory/memory_advice.h"
#include "dispatch.h"
#include "pool.h"

namespace anyzero {

namespace {

constexpr uint64_t kShare = 4'000;  // nanoseconds of copies and fills; handing out less costs too much

bool may_overlap(const Packet& packet) {
  if (packet.n_waits || packet.signal) return false;
  switch (packet.op) {
    case Op::Copy:
    case Op::Fill:
    case Op::CopyBoxes:
      return true;
    case Op::Launch: {
      // Sizes that are read from memory at execution may be written by an earlier command; cooperative kernels need all threads.
      auto& launches = static_cast<const LaunchPacket&>(packet);
      return launches.count == 1 && !launches.enabled_at && !launches.first()->count_at &&
             !(launches.first()->flags & Launch::kCooperative);
    }
    default:
      return false;
  }
}

uint64_t cost_of_moving(const Packet& packet) {
  switch (packet.op) {
    case Op::Copy:
      return cost_of_bytes(static_cast<const CopyPacket&>(packet).bytes);
    case Op::Fill:
      return cost_of_bytes(static_cast<const FillPacket&>(packet).bytes);
    case Op::CopyBoxes: {
      auto& boxes = static_cast<const CopyBoxesPacket&>(packet);
      uint64_t cost = 0;
      for (uint64_t i = 0; i < boxes.count; ++i)
        cost += cost_of_bytes(boxes.boxes()[i].row * boxes.boxes()[i].rows * boxes.boxes()[i].slices);
      return cost;
    }
    default:
      return 0;
  }
}

void run(const Packet& packet, const Context& context, const Device& device) {
  Backend& backend = device.backend();
  switch (packet.op) {
    case Op::Copy: {
      auto& p = static_cast<const CopyPacket&>(packet);
      return backend.copy(p.to, p.from, p.bytes, caching_of(p.to, p.bytes));
    }
    case Op::Fill: {
      auto& p = static_cast<const FillPacket&>(packet);
      return backend.fill(p.to, p.pattern(), p.pattern_size, p.bytes, caching_of(p.to, p.bytes));
    }
    case Op::CopyBoxes: {
      auto& p = static_cast<const CopyBoxesPacket&>(packet);
      for (uint64_t i = 0; i < p.count; ++i) {
        const BoxCopy& box = p.boxes()[i];
        backend.copy_box(box.to, box.from, box.row, box.rows, box.slices);
      }
      return;
    }
    default: {
      Busy busy;  // not the ring's, which belongs to the walking thread
      return run_launches(static_cast<const LaunchPacket&>(packet), context, device, busy);
    }
  }
}

struct Running {
  const Overlap& overlap;
  const Context& context;
  const Device& device;
  const Packet** running;
  std::atomic<bool> faulted{false};

  static void run_share(void* context, uint32_t index) {
    auto& self = *static_cast<Running*>(context);
    const OverlapShare& share = self.overlap.shares[index];
    Cursor at = share.begin;
    for (uint32_t i = 0; i < share.count; ++i) {
      const Packet& packet = at.packet();
      const Fault fault = trapped([&] { run(packet, self.context, self.device); });
      if (fault.signal) {
        // The first fault is reported; others are lost with the ring.
        if (self.faulted.exchange(true, std::memory_order_acq_rel)) return;
        *self.running = &packet;
        raise(fault);
      }
      at.advance(packet);
    }
  }
};

}  // namespace

std::vector<Overlap> find_overlaps(Cursor at, uint64_t count) {
  std::vector<Overlap> found;
  Overlap now{};
  uint64_t open = 0;  // cost of the last share, while more copies fit into it
  auto close = [&] {
    if (now.shares.size() > 1) found.push_back(std::move(now));
    now = {};
    open = 0;
  };
  for (uint64_t i = 0; i < count; ++i) {
    const Packet& packet = at.packet();
    if (!may_overlap(packet)) {
      close();
    } else {
      if (now.count++ == 0) now.first = i;
      const uint64_t cost = cost_of_moving(packet);
      if (open && packet.op != Op::Launch) {
        ++now.shares.back().count;
      } else {
        now.shares.push_back({at, 1});
      }
      now.cost += cost;
      open = packet.op == Op::Launch || open + cost >= kShare ? 0 : open + cost;
    }
    at.advance(packet);
  }
  close();
  return found;
}

void run_overlap(const Overlap& overlap, const Context& context, const Device& device, bool brief, const Packet** running) {
  Running run{overlap, context, device, running};
  parallel(static_cast<uint32_t>(overlap.shares.size()), Running::run_share, &run, brief);
}

}  // namespace anyzero
