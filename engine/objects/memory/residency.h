// Residency: the memory that a device without on-demand paging may access. It is kept per allocation; a root device's holds for its
// tiles.
//
// Memory is resident from zeContextMakeMemoryResident to zeContextEvictMemory. In addition, a command may access memory that it
// names, unless that was evicted after the append, and a kernel all memory of its indirect access flags
// (zeKernelSetIndirectAccess).
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

// A command names `pointer`: commands that name its allocation may use it until it is evicted.
void residency_note(Device& device, const void* pointer);

// True if a command that names the range may access it. Memory that is no allocation of the driver's counts as resident.
bool residency_ok(const Device& device, const void* pointer, size_t size);

// An address among the launch's arguments that it may not access, or nullptr. Memory that is no allocation of the driver's is not
// checked: the kernel may not use it.
const void* residency_missing(const Reach& reach);

// OUT_OF_DEVICE_MEMORY, with an error text, if the memory of the indirect access flags of a kernel, or of a program's kernels, does
// not fit at once.
ze_result_t residency_check(const Context& context, const Device& device, uint32_t kinds);
ze_result_t residency_check(const Context& context, const Device& device, Program& program);

}  // namespace anyzero
