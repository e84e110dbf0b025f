// Calls of kernels that note their accesses: checks of races, of uninitialized reads, and of barriers.
#pragma once

#include <cstdint>

#include "running.h"

namespace anyzero {

// `where` is an address, or that of a block, see NoteFlag; `item` is the number of lane 0's work-item, and the other lanes have the
// following numbers; `instruction` is the return address in the kernel.
void note_access(RunningWorker& worker, const NoteSite& site, uint64_t where, uint64_t lanes, uint64_t item, uintptr_t instruction);
void note_group(RunningWorker& worker, uint64_t x, uint64_t y, uint64_t z);
// All work-items of the group have reached a barrier with these Fences.
void note_barrier(RunningWorker& worker, uint32_t fences);
// Marks local memory that has an initializer as written, when a group begins.
void note_filled(RunningWorker& worker, uint64_t offset, uint64_t size);
// Notes the lanes that reach a barrier or collective operation, out of the existing ones.
void note_meeting(RunningWorker& worker, const NoteSite& site, uint64_t there, uint64_t here, uint64_t item, uintptr_t instruction);

}  // namespace anyzero
