// Memory that a thread keeps for the work-groups it runs: local memory and scratch.
#pragma once

#include <cstdint>

namespace anyzero {

struct Worker;

// Points `worker` at so many bytes of each, 128-byte aligned, followed by a page that nobody may touch. The contents are whatever
// the last kernel left. False when the system has no memory left. Threading: each thread has its own, for one kernel at a time.
bool provide_memory(uint64_t local_bytes, uint64_t scratch_bytes, Worker* worker);

}  // namespace anyzero
