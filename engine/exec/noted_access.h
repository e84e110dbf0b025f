// What kernels that note their accesses tell while they run: checks of races, of uninitialized reads, and of meetings.
#pragma once

#include <cstdint>

#include "running.h"

namespace anyzero {

// `where` is an address, or that of a block, see NoteFlag; `item` the number of lane 0's work-item, those of the other lanes
// follow; `instruction` is where the kernel goes on.
void note_access(RunningWorker& worker, const NoteSite& site, uint64_t where, uint64_t lanes, uint64_t item, uintptr_t instruction);
void note_group(RunningWorker& worker, uint64_t x, uint64_t y, uint64_t z);
// All work-items of the group have reached a barrier with these Fences.
void note_barrier(RunningWorker& worker, uint32_t fences);
// Local memory that is initialized when a group begins.
void note_filled(RunningWorker& worker, uint64_t offset, uint64_t size);
// Lanes that reach an operation that work-items do together, out of those that are there.
void note_meeting(RunningWorker& worker, const NoteSite& site, uint64_t there, uint64_t here, uint64_t item, uintptr_t instruction);

}  // namespace anyzero
