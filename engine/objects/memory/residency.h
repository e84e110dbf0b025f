// What a device without on-demand paging may touch. Residency is kept per allocation; a root device's holds for its tiles.
//
// Memory is resident from zeContextMakeMemoryResident to zeContextEvictMemory. A command may touch what it names besides, unless
// that was evicted after it was appended. A kernel may touch all memory of the kinds it says (zeKernelSetIndirectAccess) besides.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../abi/gen/ze_api.h"
#include "../../exec/packet.h"
#include "../../exec/reach.h"

namespace anyzero {

class Context;
class Device;

// Threading: any thread.

// Bits of Allocation::resident: the device's, and those of its tiles.
uint64_t residency_bits(const Device& device);

// A command names `pointer`: the allocation it lies in may be used by commands that name it, until it is evicted.
void residency_note(Device& device, const void* pointer);

// True when a command that names the range may touch it. What is no allocation of ours counts as resident.
bool residency_ok(const Device& device, const void* pointer, size_t size);

// An address among the launch's arguments that it may not touch, or nullptr. Memory that is no allocation of ours is not asked for:
// what a kernel does not touch does no harm.
const void* residency_missing(const Reach& reach);

// OUT_OF_DEVICE_MEMORY, with a text, when not all memory of the kinds that the kernel, or a kernel of the program, reaches can be
// resident at once.
ze_result_t residency_check(const Context& context, const Device& device, uint32_t kinds);
ze_result_t residency_check(const Context& context, const Device& device, Program& program);

}  // namespace anyzero
