// Steps of a thread that may take long, counted: between two readings that are equal, the thread has neither waited nor helped.
#pragma once

#include <cstdint>

namespace anyzero {

inline constinit thread_local uint32_t long_steps __attribute__((tls_model("initial-exec"))) = 0;

}  // namespace anyzero
