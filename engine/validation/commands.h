// Uses of an object by commands that are not done yet.
#pragma once

#include <string>
#include <vector>

#include "../exec/program.h"
#include "../exec/ring.h"
#include "../objects/devices/device.h"
#include "../objects/devices/driver.h"

namespace anyzero {

class Event;
class Fence;
class Image;

// Shows the rings of all devices and tiles of the driver.
template <class F>
void each_ring(const Driver& driver, F&& look) {
  for (Device* card : driver.cards()) {
    card->each_ring(look);
    for (Device* tile : card->tiles()) tile->each_ring(look);
  }
}
// Whether no queue of the driver has anything to do: then no command uses any object.
bool are_idle(const Driver& driver);
// The rings of all devices of the driver that have something to do, held.
std::vector<RingPoint> busy_rings(Driver& driver);

// Each of these says what the first command that is not done does with the object, in words; empty where there is none.
std::string use_of(const Event& event);
std::string use_of(const Program& program, Driver& driver);
std::string use_of(const Fence& fence);
std::string use_of(const MemoryRange& memory, Driver& driver);
std::string use_of(const Image& image, Driver& driver);
// The last command of a ring that is not done.
std::string unfinished(Ring& ring);

// Shows every command of a recorded list.
template <class F>
void each_of(Program& program, F&& look) {
  Cursor at{program.stream().first(), 0};
  for (uint64_t i = 0; i < program.count(); ++i) {
    const Packet& packet = at.packet();
    at.advance(packet);
    look(packet);
  }
}

}  // namespace anyzero
