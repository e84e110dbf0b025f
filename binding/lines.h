// The Python line of a call, for recordings.
#pragma once

#include <atomic>

// True while a recording wants lines. Read by every call.
extern std::atomic<bool> lines_wanted;

// Reports the line of the calling thread, which has the GIL, to the driver.
void note_line();
