// Barriers and collective operations: which work-items reach them.
#pragma once

#include "thread_notes.h"

namespace anyzero {

// Lanes that reach an operation together, out of those that are there. Of a barrier, the group's other vectors follow.
void add_meeting(ThreadNotes& thread, const NoteSite& site, uint64_t there, uint64_t here, uint64_t item, uintptr_t instruction);

// The group goes on: reports barriers that some of its work-items have not reached.
void finish_meetings(ThreadNotes& thread);

}  // namespace anyzero
