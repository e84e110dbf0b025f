// Settings of the engine from the planner: tuning parameters and paths. Set once, before the first thread of the engine.
#pragma once

#include <cstdint>
#include <string>

namespace anyzero {

struct Settings {
  uint64_t threads = 1;            // workers, the waiting thread included
  uint64_t spin_ns = 20'000;       // how long a wait polls before it sleeps
  uint64_t inline_bytes = 16'384;  // the largest copy done on the caller's own thread
  uint64_t kept_bytes = 1 << 28;   // freed memory that stays mapped for the next allocations
  uint64_t kernel_timeout_ms = 0;  // how long a kernel may run; 0 for no limit
  uint64_t strict = 0;             // 1: refuse calls that the specification forbids, though hardware drivers tolerate them
  uint64_t log_level = 1;          // 0 nothing, 1 errors, 2 warnings
  uint64_t slow_wait_ms = 5'000;   // how long a wait lasts before a warning
  uint64_t npu_cache_bytes = 0;    // the limit of the cache of compiled models; 0 for no cache
  std::string npu_cache;           // its folder; empty if there is none
  std::string openvino;            // the path of OpenVINO's C library; empty where it is not installed
  std::string openvino_version;    // as its package is called: 2026.4.1
};

// Never destroyed: threads of ours run on while the process exits.
union SettingsForLife {
  constexpr SettingsForLife() : value() {}
  ~SettingsForLife() {}
  Settings value;
};
inline constinit SettingsForLife settings_for_life;
inline constinit Settings& settings = settings_for_life.value;

}  // namespace anyzero
