// Build flags that make the planner compile kernels with checks.
#pragma once

#include <string>

#include "finding.h"

namespace anyzero {

// A flag behind those of the program; empty where no check concerns the code of kernels.
inline std::string check_flags() {
  std::string kinds;
  const auto add = [&](uint32_t kind, const char* name) {
    if (is_checked(kind)) kinds += (kinds.empty() ? " -anyzero-check=" : ",") + std::string(name);
  };
  add(kCheckMemory, "memory");
  add(kCheckRaces, "races");
  add(kCheckInit, "init");
  add(kCheckSync, "sync");
  return kinds;
}

}  // namespace anyzero
