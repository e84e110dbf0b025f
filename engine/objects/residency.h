// What a device without on-demand paging may touch. Residency is kept per allocation; a root device's holds for its tiles.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../abi/gen/ze_api.h"

namespace anyzero {

class Context;
class Device;

// Threading: any thread.

// A command names `pointer`: the allocation it lies in becomes resident on the device.
void residency_note(Device& device, const void* pointer);

// A kernel reaches whatever there is in the context of the kinds in `indirect` (ze_kernel_indirect_access_flags_t): all of it
// becomes resident.
void residency_note_kinds(const Context& context, Device& device, uint32_t indirect);

// True when every allocation in the range is resident. What is no allocation of ours counts as resident.
bool residency_ok(const Device& device, const void* pointer, size_t size);

}  // namespace anyzero
