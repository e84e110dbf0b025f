// How check mode begins and ends: by ANYZERO_CHECK from the start of a process, or when the Python API says so.
#include <cerrno>

#include "../abi/gen/tables.h"
#include "../abi/gen/ze_api.h"
#include "../check/finding.h"

namespace anyzero {

namespace {

// Loaders take the functions as soon as they have loaded the library.
[[gnu::constructor]] void begin() {
  check_as_told();
  if (checks.load()) trace_tables();
}

}  // namespace

extern "C" {

// Begins to look for mistakes of these kinds and writes them to a new file; 0, or the system's error number.
ZE_APIEXPORT int zexCheckStart(uint32_t kinds, const char* path) {
  if (!kinds || !path) return EINVAL;
  return start_checks(kinds, path) ? 0 : errno;
}

ZE_APIEXPORT void zexCheckStop() { stop_checks(); }

// The source line that the calling thread's next calls come from; line 0 for an unknown one.
ZE_APIEXPORT void zexNoteSourceLine(const char* file, uint32_t line, const char* function) {
  if (line && (!file || !function)) return;
  note_source_line(file, line, function);
}

}  // extern "C"

}  // namespace anyzero
