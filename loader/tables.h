// The tables that the loader returns to another loader or to a layer. They hold the loader's own functions.
#pragma once

#include "ze_api.h"

namespace anyzero::loader {

// All tables. In a driver's tables, a member is null if it has no such function.
struct Tables {
  ze_dditable_t ze{};
  zet_dditable_t zet{};
  zes_dditable_t zes{};
  zer_dditable_t zer{};
};

extern ze_dditable_t ze_entries;
extern zet_dditable_t zet_entries;
extern zes_dditable_t zes_entries;
extern zer_dditable_t zer_entries;

// Tables of another major version, or of none, have another layout.
inline bool speaks(ze_api_version_t version) { return ZE_MAJOR_VERSION(version) == 1; }

inline ze_result_t bad_version(const char*, ze_api_version_t) { return ZE_RESULT_ERROR_UNSUPPORTED_VERSION; }

inline ze_result_t no_table(const char*) { return ZE_RESULT_ERROR_INVALID_NULL_POINTER; }

}  // namespace anyzero::loader
