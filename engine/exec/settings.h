// The few numbers that tune execution. The planner sets them once, before any thread of ours exists.
#pragma once

#include <cstdint>

namespace anyzero {

struct Settings {
  uint64_t threads = 1;            // workers, the waiting thread included
  uint64_t spin_ns = 20'000;       // how long a waiter looks before it sleeps
  uint64_t inline_bytes = 16'384;  // the largest copy done on the caller's own thread
  uint64_t kernel_timeout_ms = 0;  // how long a kernel may run; 0 for ever
  uint64_t log_level = 1;          // 0 nothing, 1 errors; what is more belongs to the planner
};

inline Settings settings;

}  // namespace anyzero
