// Begin and end of check mode: by ANYZERO_CHECK from the start of a process, or by calls of the Python API.
#include <cerrno>

#include "../abi/gen/tables.h"
#include "../abi/gen/ze_api.h"
#include "../check/finding.h"
#include "device_scope.h"
#include "early_reads.h"
#include "made_objects.h"
#include "other_threads.h"

namespace anyzero {

namespace {

constexpr uint64_t kPatience = 5'000'000'000;  // for commands whose results were read too early

// Loaders take the functions as soon as they have loaded the library.
[[gnu::constructor]] void begin_checking() {
  check_as_told();
  if (!checks.load()) return;
  replace_in_tables(&TracedFunction::watched);
}

// A destructor of the library runs behind all exit handlers and destructors of static objects, in which programs may free what they
// have. A handler of std::atexit would run in front of those that are older than the library: a loader loads it late.
[[gnu::destructor]] void look_for_leaks() {
  if (!is_checked(kCheckPrint)) return;
  finish_early_reads(kPatience);
  report_leaks_at_exit();
}

}  // namespace

extern "C" {

// Begins to look for mistakes of these kinds and writes them to a new file; 0, or the system's error number.
ZE_APIEXPORT int zexCheckStart(uint32_t kinds, const char* path) {
  if (!kinds || !path) return EINVAL;
  note_bystanders();
  if (!start_checks(kinds, path)) return errno;
  note_earlier_events();
  return 0;
}

ZE_APIEXPORT void zexCheckStop() {
  finish_early_reads(kPatience);
  stop_checks();
}

// Sets the function that finds the source line of a call; nullptr for none.
ZE_APIEXPORT void zexReadSourceLinesBy(SourceLineReader reader) { read_source_lines_by(reader); }

}  // extern "C"

}  // namespace anyzero
