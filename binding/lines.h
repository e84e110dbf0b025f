// Which line of Python a call comes from, for recordings.
#pragma once

#include <atomic>

// Whether a recording wants lines. Read by every call.
extern std::atomic<bool> lines_wanted;

// Tells the driver the line of the calling thread, which has the interpreter's lock.
void note_line();
