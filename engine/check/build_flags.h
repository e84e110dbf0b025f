// How the planner learns that kernels are to be compiled with checks.
#pragma once

#include <string>

#include "finding.h"

namespace anyzero {

// A flag behind those of the program; empty where no check concerns the code of kernels.
inline std::string check_flags() { return is_checked(kCheckMemory) ? " -anyzero-check=memory" : ""; }

}  // namespace anyzero
