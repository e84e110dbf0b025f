#include "error.h"

#include <cstdarg>
#include <cstdio>

namespace anyzero {

namespace {
thread_local char text[1024];
}

ze_result_t fail(ze_result_t result, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return result;
}

ze_result_t bad_handle(ze_result_t result, const char* function, const char* parameter, const void* value) {
  if (!value) return fail(result, "%s: %s is null", function, parameter);
  return fail(result, "%s: %s (%p) is not a live handle of that kind; was it destroyed, or is it another kind of object?", function,
              parameter, value);
}

const char* last_error() { return text; }

}  // namespace anyzero
