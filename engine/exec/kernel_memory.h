// Memory that a thread keeps for the work-groups it runs: local memory, scratch, and the stack.
#pragma once

#include <cstdint>

namespace anyzero {

struct Worker;

// How many bytes before and behind a kernel's memory may be touched before there is a guard: kernels read a few elements too many
// and throw them away, as hardware lets them. None in strict mode.
uint64_t overrun_slack();

// Points `worker` at so many bytes of local memory and scratch, 128-byte aligned, between slack and guard pages. The contents,
// those of the slack too, are whatever the last kernel left. Returns where the stack begins that the kernel is to run on; nullptr
// when the system has no memory left. Threading: each thread has its own, for one kernel at a time.
void* provide_memory(uint64_t local_bytes, uint64_t scratch_bytes, Worker* worker);

// True for an address in the local memory, scratch or stack of the kernel that this thread runs, or in a guard beside them.
bool in_kernel_memory(uintptr_t address);

// Says of a bad address whether it is beside the memory of the kernel that this thread runs: the kind of fault, else 0.
// Signal-safe.
int memory_overrun(uintptr_t address, uintptr_t stack_pointer);

}  // namespace anyzero
