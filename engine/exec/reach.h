// The memory that a launch on a device without on-demand paging may access; the objects that know what is resident implement it
// (objects/memory/residency.cpp).
#pragma once

#include <cstdint>

#include "offered.h"

namespace anyzero {

class Context;
class Device;
struct Launch;

// A launch, and where it runs.
struct Reach {
  const Context& context;
  const Device& device;
  const Launch& launch;

  // The kinds of memory it reaches all of (ze_kernel_indirect_access_flags_t).
  uint32_t kinds() const;
};

// Whether the launch may touch the memory at `address`, and how far around it. What is no allocation of ours is out of reach, but
// for the rest of a page that begins or ends with an allocation: kernels read a few elements too many and throw them away, as
// hardware lets them. Not in strict mode.
bool residency_reaches(const Reach& reach, uintptr_t address, AddressRange* range);

}  // namespace anyzero
