// What commands that are not done yet do with an object.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../exec/ring.h"

namespace anyzero {

class Driver;
class Event;
class Fence;

// The rings of all devices of the driver that have something to do, held.
std::vector<RingPoint> busy_rings(Driver& driver);

// Each of these says what the first command that is not done does with the object, in words; empty where there is none.
std::string use_of(const Event& event);
std::string use_of(const Program& program, Driver& driver);
std::string use_of(const Fence& fence);
std::string use_of(const MemoryRange& memory, Driver& driver);
// The host has seen the event signalled, and is about to reset it: commands that end with it are done.
void note_seen(const Event& event);
// The last command of a ring, unless the host has seen its event: then it is as good as done.
std::string unfinished(Ring& ring);

}  // namespace anyzero
