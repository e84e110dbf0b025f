// Races between commands: their order by the calls of the program, and the memory that they touch.
#pragma once

#include <string>

#include "../abi/gen/ze_api.h"
#include "../exec/packet.h"

namespace anyzero {

class CommandList;

// Before a command is appended: keeps the place of the call.
void note_append(const CommandList& list);
// The host has waited for an event, or asked for it.
void note_event_seen(ze_result_t result, ze_event_handle_t event);
// The host is about to signal an event, to reset an event or a fence, or to destroy one.
void note_host_signal(ze_event_handle_t event);
void note_reset(const void* object);
void note_destroyed(const void* object);
// A command that uses the memory and that the program has not waited for, in words; empty where there is none, or it is not known.
std::string unseen_use(const MemoryRange& memory);
// The memory is about to be freed; other commands may get it.
void note_freed(const MemoryRange& memory);

}  // namespace anyzero
