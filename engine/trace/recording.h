// Recordings of what a process does: calls, commands and requests to the planner, in a file that outlives it.
//
// Each thread writes records of a fixed size into a ring of its own in the mapped file: no lock, no allocation, no system call.
// Where nothing is recorded, the code that could record reads one flag.
#pragma once

#include <cstdint>
#include <string_view>

#include "../layouts/gen/trace.h"
#include "../system/watched.h"
#include "ticks.h"

namespace anyzero {

inline bool is_recording() { return watched.load(std::memory_order_relaxed) & kRecorded; }

// The calling thread's next record, to be filled from whatever it holds; nullptr where there is no recording any more, or no room
// for another thread in it. It counts once it is complete.
TraceRecord* begin_record();
void complete_record();

// Where a text is among those of the recording; it is added if it is new.
uint64_t place_of_text(std::string_view text);
// The same for the name of a kernel or a model, which `object` has. Remembers what the calling thread asked for lately.
uint64_t place_of_name(const void* object, std::string_view name);

// The queue and the place in it that a thread gave a command to last.
struct Submission {
  uint64_t queue = 0;
  uint64_t position = 0;
};
// Of the calling thread, since the call that it is in began.
Submission exchange_submission(Submission submission);

// A source line as one number: where its file is among the texts, where its function is, and the line; 0 for none.
inline constexpr int kFunctionBits = 22, kLineBits = 20;
// Says that the calling thread's next calls come from there, unless it was said already.
void record_line(uint64_t line);

// A recording of this process into a new file with so many records for each thread, a power of two. False with errno set.
bool start_recording(const char* path, uint64_t records);
void stop_recording();
// Starts one in the folder that ANYZERO_TRACE names, if it is set.
void record_as_told();

}  // namespace anyzero
