// Worker threads that run large commands in chunks, together with the thread that runs the command and the threads that wait for
// it.
#pragma once

#include <cstdint>

#include "trap.h"

namespace anyzero {

// Runs every chunk and returns when all are done. A fault in a chunk is raised again in the caller's trap. Only engine threads run
// chunks that are not `brief`: they would delay a thread that waits for something else.
void parallel(uint32_t chunks, void (*run)(void* context, uint32_t chunk), void* context, bool brief = true);

// Runs one brief chunk of any shared job on the calling thread; false if there was none.
bool help_parallel();

}  // namespace anyzero
