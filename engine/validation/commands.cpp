#include "commands.h"

#include "../exec/program.h"
#include "../objects/commands/command_queue.h"
#include "../objects/devices/device.h"
#include "../objects/devices/driver.h"
#include "../objects/sync/event.h"
#include "../objects/sync/fence.h"

namespace anyzero {

namespace {

bool reached(const Event& event) { return event.signal().state(1) == Signal::State::Reached; }

bool waits_for(const Packet& packet, const Event& event) {
  for (uint32_t i = 0; i < packet.n_waits; ++i)
    if (packet.waits()[i].event == &event) return true;
  return false;
}

// How a packet uses the event: "signals" or "waits for", or nullptr.
const char* own_use(const Packet& packet, const Event& event) {
  if (packet.signal == &event) return "signals";
  if (packet.op == Op::Reset && static_cast<const ResetPacket&>(packet).event == &event) return "resets";
  return waits_for(packet, event) ? "waits for" : nullptr;
}

template <class F>
void each_of(Program& program, F&& look) {
  Cursor at{program.stream().first(), 0};
  for (uint64_t i = 0; i < program.count(); ++i) {
    const Packet& packet = at.packet();
    at.advance(packet);
    look(packet);
  }
}

// The same of a packet and of the recorded lists that it executes.
const char* any_use(const Packet& packet, const Event& event) {
  const char* use = own_use(packet, event);
  if (use || packet.op != Op::Execute) return use;
  auto& execute = static_cast<const ExecutePacket&>(packet);
  for (uint64_t i = 0; i < execute.count; ++i)
    each_of(*execute.programs()[i], [&](const Packet& inner) {
      if (!use) use = own_use(inner, event);
    });
  return use;
}

// The first packet of a ring whose last event is signalled: it counts as done a moment later.
bool nearly_done(const Packet& packet) {
  const Packet* last = &packet;
  if (packet.op == Op::Execute && !packet.signal) {
    auto& execute = static_cast<const ExecutePacket&>(packet);
    for (uint64_t i = 0; i < execute.count; ++i) each_of(*execute.programs()[i], [&](const Packet& inner) { last = &inner; });
  }
  return last->signal && !last->signal->counts() && reached(*last->signal);
}

// What `find` says of the first packet that it says something of.
template <class F>
std::string first_use(Driver& driver, F&& find) {
  std::string found;
  for (RingPoint& point : busy_rings(driver)) {
    bool first = true;
    Ring& ring = point.ring();
    ring.each_submitted([&](const Packet& packet, uint64_t position) {
      if (!found.empty()) return;
      const bool is_first = std::exchange(first, false);
      if (!is_first || !nearly_done(packet)) found = find(packet, ring, position, is_first);
    });
  }
  return found;
}

}  // namespace

std::vector<RingPoint> busy_rings(Driver& driver) {
  std::vector<RingPoint> rings;
  for (Device* device : driver.cards())
    for (RingPoint& point : device->submitted()) rings.push_back(std::move(point));
  return rings;
}

std::string use_of(const Event& event) {
  return first_use(event.driver(), [&](const Packet& packet, const Ring& ring, uint64_t position, bool first) {
    const char* use = any_use(packet, event);
    // The first one may be about to be done: its waits are over, and its event is signalled, if it can be.
    if (!use || (first && reached(event))) return std::string();
    return command_text(packet, ring, position) + " " + use + " it";
  });
}

std::string use_of(const Program& program, Driver& driver) {
  return first_use(driver, [&](const Packet& packet, const Ring& ring, uint64_t position, bool) {
    if (packet.op != Op::Execute) return std::string();
    auto& execute = static_cast<const ExecutePacket&>(packet);
    bool found = false;
    for (uint64_t i = 0; i < execute.count; ++i) found = found || execute.programs()[i] == &program;
    return found ? command_text(packet, ring, position) : std::string();
  });
}

std::string use_of(const Fence& fence) {
  return first_use(fence.queue().context().driver(), [&](const Packet& packet, const Ring& ring, uint64_t position, bool first) {
    if (packet.op != Op::SignalFence || static_cast<const SignalFencePacket&>(packet).fence != &fence) return std::string();
    // It waits for nothing, so that it is being signalled just now, or has been: the host may have reset it already.
    if (first) return std::string();
    return command_text(packet, ring, position) + " signals it";
  });
}

std::string use_of(const MemoryRange& memory, Driver& driver) {
  return first_use(driver, [&](const Packet& packet, const Ring& ring, uint64_t position, bool) {
    return names(packet, memory) ? command_text(packet, ring, position) : std::string();
  });
}

void note_seen(const Event& event) {
  if (!reached(event)) return;
  for (RingPoint& point : busy_rings(event.driver())) {
    uint64_t seen = 0;
    bool first = true;
    point.ring().each_submitted([&](const Packet& packet, uint64_t position) {
      if (std::exchange(first, false) && nearly_done(packet)) seen = position;
    });
    if (seen) point.ring().note_seen(seen);
  }
}

std::string unfinished(Ring& ring) {
  std::string found;
  if (ring.lost()) return found;  // nothing of it will be done
  uint64_t commands = 0;
  ring.each_submitted([&](const Packet& packet, uint64_t position) {
    ++commands;
    found = command_text(packet, ring, position);
    if (commands == 1 && (nearly_done(packet) || packet.op == Op::SignalFence)) found.clear();
  });
  return found;
}

}  // namespace anyzero
