// The description of each thread's last error. Only failing paths use it.
#pragma once

#include "gen/ze_api.h"

namespace anyzero {

// Stores the text for zeDriverGetLastErrorDescription on this thread and returns the code.
__attribute__((format(printf, 2, 3), cold)) ze_result_t fail(ze_result_t result, const char* format, ...);

// A null, freed or foreign value where a handle was expected.
__attribute__((cold)) ze_result_t bad_handle(ze_result_t result, const char* function, const char* parameter, const void* value);

// The text of this thread's last failure; empty if there was none.
const char* last_error();

}  // namespace anyzero
