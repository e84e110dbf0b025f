// Recordings of what a process does: calls, commands and requests to the planner, in a file that outlives it.
//
// Each thread writes records of a fixed size into a ring of its own in the mapped file: no lock, no allocation, no system call.
// Where nothing is recorded, the code that could record reads one flag.
#pragma once

#include <cstdint>
#include <string_view>

#include "../system/watched.h"
#include "recorder.h"
#include "ticks.h"

namespace anyzero {

inline bool is_recording() { return watched.load(std::memory_order_relaxed) & kRecorded; }

// Where a text is among those of the recording; it is added if it is new.
uint64_t place_of_text(std::string_view text);

// A source line as one number: where its file is among the texts, where its function is, and the line; 0 for none.
inline constexpr int kFunctionBits = 22, kLineBits = 20;

// A recording of this process into a new file with so many records for each thread, a power of two. False with errno set.
bool start_recording(const char* path, uint64_t records);
void stop_recording();
// Starts one in the folder that ANYZERO_TRACE names, if it is set.
void record_as_told();

}  // namespace anyzero
