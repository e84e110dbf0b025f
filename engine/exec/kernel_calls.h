// Functions that compiled code calls from inside a kernel. All switch to the thread's own stack: the room left on the kernel's
// stack is unknown, and a stack overflow inside a lock or in Python could not be handled.
#pragma once

#include <cstdint>

#include "offered.h"

extern "C" {

// Prints as OpenCL's printf: one slot for each scalar, or each component of a vector.
void az_printf(anyzero::Worker* worker, const char* format, const uint64_t* slots, uint32_t n_slots);

// Ends the kernel if it is about to access memory that is not resident: `bytes` at the address of each lane in the mask. Only
// kernels for devices without on-demand paging call it.
void az_resident(anyzero::Worker* worker, const uintptr_t* addresses, uint64_t lanes, uint64_t bytes);
// The same for addresses a constant apart, counted from lane 0.
void az_resident_apart(anyzero::Worker* worker, uintptr_t first, int64_t stride, uint64_t lanes, uint64_t bytes);

// Called by kernels with bounds checks if some lane of an access that `site` describes may be out of bounds. `block` has ids,
// bounds and addresses, see CheckFlag; `data` has room for the components of all lanes, or the values to be stored.
void az_check_load(anyzero::Worker* worker, const anyzero::CheckSite* site, uint64_t* block, uint64_t lanes, void* data);
void az_check_store(anyzero::Worker* worker, const anyzero::CheckSite* site, uint64_t* block, uint64_t lanes, void* data);
// Writes the begin of the allocation around each of `count` addresses whose lane is in the mask, then the sizes.
void az_bounds_of(anyzero::Worker* worker, const uintptr_t* addresses, uint64_t count, uint64_t lanes, uint64_t* found);

// Called by kernels that note their accesses, see noted_access.h.
void az_note(anyzero::Worker* worker, const anyzero::NoteSite* site, uint64_t where, uint64_t lanes, uint64_t item);
void az_meet(anyzero::Worker* worker, const anyzero::NoteSite* site, uint64_t there, uint64_t here, uint64_t item);
void az_group(anyzero::Worker* worker, uint64_t x, uint64_t y, uint64_t z);
void az_barrier(anyzero::Worker* worker, uint32_t fences);
void az_filled(anyzero::Worker* worker, uint64_t offset, uint64_t size);

// Ends the kernel; `kind` is a FaultKind.
[[noreturn]] void az_fault(anyzero::Worker* worker, uint32_t kind, uint64_t value);

// The same with FaultKind::PrivateOverrun. Compilers call this name if the stack protector's guard value has changed.
[[noreturn]] void az_private_overrun();
}
