// Start and stop of recordings: by ANYZERO_TRACE at the start of a process, or by the Python API.
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
[[gnu::constructor]] void begin_recording() {
  record_as_told();
  if (is_recording()) replace_in_tables(&TracedFunction::recorded);
}

}  // namespace

extern "C" {

// Starts a recording, as start_recording(); returns 0 or an errno value.
ZE_APIEXPORT int zexTraceStart(const char* path, uint64_t records) {
  constexpr uint64_t kMost = 1 << 24;
  if (!path || !std::has_single_bit(records) || records > kMost) return EINVAL;
  return start_recording(path, records) ? 0 : errno;
}

ZE_APIEXPORT void zexTraceStop() { stop_recording(); }

// The recording version of a function, by its name; nullptr if there is none.
ZE_APIEXPORT void* zexTracedFunction(const char* name) {
  if (!name) return nullptr;
  const auto before = [](const TracedFunction& function, const char* key) { return std::strcmp(function.name, key) < 0; };
  const auto found = std::lower_bound(traced_functions.begin(), traced_functions.end(), name, before);
  return found != traced_functions.end() && std::strcmp(found->name, name) == 0 ? found->traced : nullptr;
}

}  // extern "C"

}  // namespace anyzero
