// Events between devices: whether what one device has written is visible to another one. With the checks of `strict`, the order of
// commands is followed from when commands may run on two devices and there may be an event without the scope of a device; programs
// of one device pay nothing.
#pragma once

#include <atomic>

#include "../check/finding.h"

namespace anyzero {

class Driver;
struct Race;

// The session of checks in which the order of commands is followed for that.
inline constinit std::atomic<uint64_t> device_scope_session{0};

inline bool follows_devices() {
  return is_checked(kCheckStrict) &&
         device_scope_session.load(std::memory_order_relaxed) == check_sessions.load(std::memory_order_relaxed);
}
// For that, or for races between commands.
inline bool follows_commands() { return is_checked(kCheckRaces) || follows_devices(); }

// At the begin of checks that the program begins itself: its events and queues may exist.
void note_earlier_events();
// After a queue or an immediate list was made.
void note_new_queue(const Driver& driver);
// A command reads what another one has written on another device. They are in order, but no event between them makes it visible.
void report_invisible(const Race& pair);

}  // namespace anyzero
