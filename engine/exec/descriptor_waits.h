// Waits for descriptors that become readable, on behalf of rings: one thread polls them all, so that no engine blocks.
#pragma once

namespace anyzero {

class Event;

// Starts the thread, once per process; false when the system grants none. To be asked before a command is appended that needs it.
bool start_descriptor_waits();

// Signals `event` once `fd`, an eventfd, could be read, which takes what it holds. Both stay held until then, or until nothing but
// this wait holds the event: what waited for it is gone, and nothing is taken.
void signal_when_readable(int fd, Event& event);

}  // namespace anyzero
