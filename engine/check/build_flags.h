// How the planner learns that kernels are to be compiled with checks.
#pragma once

#include <string>
#include <utility>

#include "finding.h"

namespace anyzero {

// A flag behind those of the program; empty where no check concerns the code of kernels.
inline std::string check_flags() {
  constexpr std::pair<uint32_t, const char*> kNames[] = {{kCheckMemory, "memory"}, {kCheckInit, "init"}, {kCheckRaces, "races"}};
  const uint32_t wanted = checks.load(std::memory_order_relaxed);
  std::string flag;
  for (const auto& [bit, name] : kNames)
    if (wanted & bit) flag += (flag.empty() ? " -anyzero-check=" : ",") + std::string(name);
  return flag;
}

}  // namespace anyzero
