// The memory that a launch on a device without on-demand paging may access; the objects that know what is resident implement it
// (objects/memory/residency.cpp).
#pragma once

#include <cstdint>

#include "offered.h"

namespace anyzero {

class Context;
class Device;
struct Launch;

// A launch, and the context and device that it runs in.
struct Reach {
  const Context& context;
  const Device& device;
  const Launch& launch;

  // The kinds of memory that it may access indirectly (ze_kernel_indirect_access_flags_t).
  uint32_t kinds() const;
};

// True if the launch may access the memory at `address`, with the range around it. Memory that is no allocation of the driver's is
// out of reach, except for the rest of an allocation's first and last page: some kernels read a few elements too many and ignore
// them, which works on GPUs. Not in strict mode.
bool residency_reaches(const Reach& reach, uintptr_t address, AddressRange* range);

}  // namespace anyzero
