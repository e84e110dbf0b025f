// Worker threads that share out large commands, chunk by chunk, with the thread that runs the command and the threads that wait for
// it.
#pragma once

#include <cstdint>

#include "trap.h"

namespace anyzero {

// Runs every chunk and returns when all are done. A fault in a chunk is raised again in the caller's own trap. Chunks that are not
// `brief` are for our own threads only: a thread that waits for something else must not be held up.
void parallel(uint32_t chunks, void (*run)(void* context, uint32_t chunk), void* context, bool brief = true);

// Lends the calling thread for one brief chunk of whatever is being shared out; false when there was nothing to do.
bool help_parallel();

}  // namespace anyzero
