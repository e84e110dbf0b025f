#include "layers.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>

#include "log.h"
#include "tracing_layer.h"
#include "variables.h"

namespace anyzero::loader {

namespace {

constinit std::atomic<bool> told{false};

// The driver's checks for each mode of the validation layer: zexCheckAsLayer has the same numbers.
enum Check : uint32_t { kMemory = 1, kSync = 2, kStrict = 4 };

struct Mode {
  const char* variable;
  uint32_t checks;
};
constexpr Mode kModes[] = {
    {"ZE_ENABLE_PARAMETER_VALIDATION", kStrict}, {"ZE_ENABLE_HANDLE_LIFETIME", kSync | kMemory},
    {"ZEL_ENABLE_EVENTS_CHECKER", kSync},        {"ZEL_ENABLE_BASIC_LEAK_CHECKER", kMemory},
    {"ZE_ENABLE_THREADING_VALIDATION", kSync},   {"ZE_ENABLE_MEMORY_TRACKER", kMemory},
};

}  // namespace

void switch_layers_on_as_told() {
  if (told.load(std::memory_order_acquire) || told.exchange(true)) return;
  // The second variable is for the experimental tracers.
  if (is_switched_on("ZE_ENABLE_TRACING_LAYER") || is_switched_on("ZET_ENABLE_API_TRACING_EXP")) switch_on(&traced);
}

void switch_checks_on_as_told(void* library, const char* path) {
  if (!is_switched_on("ZE_ENABLE_VALIDATION_LAYER")) return;
  uint32_t checks = 0;
  for (const Mode& mode : kModes)
    if (is_switched_on(mode.variable)) checks |= mode.checks;
  if (!checks) return;
  if (auto* start = reinterpret_cast<int (*)(uint32_t)>(dlsym(library, "zexCheckAsLayer"))) {
    trace("%s checks calls as the validation layer (%#x)", path, checks);
    start(checks);
  } else {
    complain("%s has no check mode; ZE_ENABLE_VALIDATION_LAYER has no effect on it", path);
  }
}

}  // namespace anyzero::loader
