// The validation layer of a loader: its modes are checks of check mode, which a loader switches on before it takes the functions.
#include <cerrno>
#include <cstdlib>

#include "../abi/gen/tables.h"
#include "../abi/gen/ze_api.h"
#include "../check/finding.h"

namespace anyzero {

namespace {

// The numbers that loaders pass; those of the checks themselves may change.
enum LayerCheck : uint32_t { kLayerMemory = 1, kLayerSync = 2, kLayerStrict = 4 };

}  // namespace

extern "C" {

// Findings go to stderr. 0, or the system's error number: EBUSY where ANYZERO_CHECK says what to look for, if only nothing.
ZE_APIEXPORT int zexCheckAsLayer(uint32_t wanted) {
  const uint32_t kinds = (wanted & kLayerMemory ? kCheckMemory : 0) | (wanted & kLayerSync ? kCheckSync : 0) |
                         (wanted & kLayerStrict ? kCheckStrict : 0);
  if (!kinds) return EINVAL;
  if (const char* told = secure_getenv("ANYZERO_CHECK"); told && *told) return EBUSY;
  if (!start_checks(kinds | kCheckPrint, nullptr)) return errno;
  replace_in_tables(&TracedFunction::watched);
  return 0;
}

}  // extern "C"

}  // namespace anyzero
