// Recordings of a process: calls, commands and requests to the planner, in a file that outlives it.
//
// Each thread writes records of a fixed size into a ring of its own in the mapped file: no lock, no allocation, no system call.
// Without a recording, each place that could record reads one flag.
#pragma once

#include <cstdint>
#include <string_view>

#include "../system/watched.h"
#include "recorder.h"
#include "ticks.h"

namespace anyzero {

inline bool is_recording() { return watched.load(std::memory_order_relaxed) & kRecorded; }

// The offset of a text among the recording's texts; a new text is added.
uint64_t place_of_text(std::string_view text);

// A source line as one number: the offsets of its file and function among the texts, and the line; 0 for none.
inline constexpr int kFunctionBits = 22, kLineBits = 20;

// Starts a recording of this process into a new file. `records` is the capacity for each thread, a power of two. False with errno
// set.
bool start_recording(const char* path, uint64_t records);
void stop_recording();
// Starts a recording in the folder that ANYZERO_TRACE names, if it is set.
void record_as_told();

}  // namespace anyzero
