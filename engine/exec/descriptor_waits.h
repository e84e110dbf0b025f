// Waits for descriptors that become readable, on behalf of rings: one thread polls them all, so that no engine blocks.
#pragma once

namespace anyzero {

class Event;

// Starts the thread, once per process; false if the system grants none. Called before a command that needs it is appended.
bool start_descriptor_waits();

// Signals `event` once `fd`, an eventfd, was read, which resets its count. Both stay held until then, or until only this wait
// holds the event: the commands that waited for it are gone, and the count is left alone.
void signal_when_readable(int fd, Event& event);

}  // namespace anyzero
