// Findings about noted accesses: races, and reads of uninitialized memory.
#pragma once

#include "noted_lanes.h"
#include "thread_notes.h"

namespace anyzero {

// Do two lanes store the same value?
bool same_values(const NotedLanes& lanes, unsigned one, unsigned other);

// `region` is nullptr for local memory; `behind_barrier` says that there is a barrier between them, without a fence for this
// memory. False if the accesses are no race after all: atomic operations or sub-groups may order them, or both store the same
// value.
bool report_race(const ThreadNotes& thread, const NotedLanes& lanes, unsigned lane, const Conflict& with, const NotedRegion* region,
                 bool behind_barrier);

void report_uninitialized(const ThreadNotes& thread, const NotedLanes& lanes, unsigned lane, const NotedRegion* region);

// The source lines of an instruction that follows a call, outermost first; only the last one in one line.
std::string stack_of(const RunningLaunch& running, uintptr_t instruction);
std::string line_of(const RunningLaunch& running, uintptr_t instruction);

}  // namespace anyzero
