// Memory of a thread for the work-groups it runs: local memory, scratch, and the stack.
#pragma once

#include <cstdint>

namespace anyzero {

struct Worker;

// Bytes of slack before and behind a kernel's memory that may be accessed before the guard pages: some kernels read a few elements
// too many and ignore them, which works on GPUs. None in strict mode.
uint64_t overrun_slack();

// Points `worker` at so many bytes of local memory and scratch, 128-byte aligned, between slack and guard pages. The contents, also
// of the slack, are those that the last kernel left. Returns the top of the kernel's stack; nullptr if the system has no memory
// left. Threading: each thread has its own, for one kernel at a time.
void* provide_memory(uint64_t local_bytes, uint64_t scratch_bytes, Worker* worker);

// True for an address in the local memory, scratch or stack of the kernel that this thread runs, or in a guard beside them.
bool in_kernel_memory(uintptr_t address);

// The kind of fault if a bad address is beside the memory of the kernel that this thread runs, else 0. Signal-safe.
int memory_overrun(uintptr_t address, uintptr_t stack_pointer);

}  // namespace anyzero
