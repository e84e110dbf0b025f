#include "commands.h"

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

// The packet's use of the event: "signals", "resets" or "waits for"; nullptr for none.
const char* own_use(const Packet& packet, const Event& event) {
  if (packet.signal == &event) return "signals";
  if (packet.op == Op::Reset && static_cast<const ResetPacket&>(packet).event == &event) return "resets";
  return waits_for(packet, event) ? "waits for" : nullptr;
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

bool has_image(const Packet& packet, const Image& image) {
  bool found = false;
  if (packet.op == Op::CopyBoxes)
    for (const Image* each : static_cast<const CopyBoxesPacket&>(packet).images) found = found || each == &image;
  if (packet.op == Op::Launch)
    for_each_launch(static_cast<const LaunchPacket&>(packet), [&](const Launch& launch) {
      for (uint32_t i = 0; i < launch.n_images; ++i) found = found || launch.images()[i] == &image;
    });
  return found;
}

// The first text of `find` that is not empty, over all packets that are not done.
template <class F>
std::string first_use(Driver& driver, F&& find) {
  std::string found;
  for (RingPoint& point : busy_rings(driver)) {
    bool first = true;
    Ring& ring = point.ring();
    ring.each_submitted([&](const Packet& packet, uint64_t position) {
      if (found.empty()) found = find(packet, ring, position, std::exchange(first, false));
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

bool are_idle(const Driver& driver) {
  bool idle = true;
  each_ring(driver, [&](const Ring& ring) { idle = idle && ring.idle(); });
  return idle;
}

std::string use_of(const Event& event) {
  return first_use(event.driver(), [&](const Packet& packet, const Ring& ring, uint64_t position, bool first) {
    const char* use = any_use(packet, event);
    // The first one may run: its wait for a signalled event is over.
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
  return first_use(fence.queue().context().driver(), [&](const Packet& packet, const Ring& ring, uint64_t position, bool) {
    if (packet.op != Op::SignalFence || static_cast<const SignalFencePacket&>(packet).fence != &fence) return std::string();
    return command_text(packet, ring, position) + " signals it";
  });
}

std::string use_of(const MemoryRange& memory, Driver& driver) {
  return first_use(driver, [&](const Packet& packet, const Ring& ring, uint64_t position, bool) {
    return names(packet, memory) ? command_text(packet, ring, position) : std::string();
  });
}

std::string use_of(const Image& image, Driver& driver) {
  return first_use(driver, [&](const Packet& packet, const Ring& ring, uint64_t position, bool) {
    bool found = has_image(packet, image);
    if (packet.op == Op::Execute) {
      auto& execute = static_cast<const ExecutePacket&>(packet);
      for (uint64_t i = 0; i < execute.count; ++i)
        each_of(*execute.programs()[i], [&](const Packet& inner) { found = found || has_image(inner, image); });
    }
    return found ? command_text(packet, ring, position) : std::string();
  });
}

std::string unfinished(Ring& ring) {
  std::string found;
  if (ring.lost()) return found;  // nothing of it will be done
  ring.each_submitted([&](const Packet& packet, uint64_t position) { found = command_text(packet, ring, position); });
  return found;
}

}  // namespace anyzero
