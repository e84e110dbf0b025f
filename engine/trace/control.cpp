// How recordings begin and end: by ANYZERO_TRACE from the start of a process, or when the Python API says so.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "../abi/gen/tables.h"
#include "../abi/gen/traced.h"
#include "recording.h"

namespace anyzero {

namespace {

// Loaders take the functions as soon as they have loaded the library.
[[gnu::constructor]] void begin() {
  record_as_told();
  if (is_recording()) trace_tables();
}

}  // namespace

extern "C" {

// Begins a recording into a new file with so many records for each thread, a power of two; 0, or the system's error number.
ZE_APIEXPORT int zexTraceStart(const char* path, uint64_t records) {
  constexpr uint64_t kMost = 1 << 24;
  if (!path || !std::has_single_bit(records) || records > kMost) return EINVAL;
  return start_recording(path, records) ? 0 : errno;
}

ZE_APIEXPORT void zexTraceStop() { stop_recording(); }

// The function of that name that records its calls, or nullptr.
ZE_APIEXPORT void* zexTracedFunction(const char* name) {
  if (!name) return nullptr;
  const auto before = [](const TracedFunction& function, const char* key) { return std::strcmp(function.name, key) < 0; };
  const auto found = std::lower_bound(traced_functions.begin(), traced_functions.end(), name, before);
  return found != traced_functions.end() && std::strcmp(found->name, name) == 0 ? found->traced : nullptr;
}

}  // extern "C"

}  // namespace anyzero
