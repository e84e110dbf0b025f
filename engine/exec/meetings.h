// Checks that all work-items reach barriers and collective operations.
#pragma once

#include "thread_notes.h"

namespace anyzero {

// Notes the lanes that reach an operation, out of the existing ones. For a barrier, calls for the group's other vectors follow.
void add_meeting(ThreadNotes& thread, const NoteSite& site, uint64_t there, uint64_t here, uint64_t item, uintptr_t instruction);

// The group continues: reports barriers that some of its work-items have not reached.
void finish_meetings(ThreadNotes& thread);

}  // namespace anyzero
