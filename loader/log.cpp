#include "log.h"

#include <cstdarg>
#include <cstdio>

#include "variables.h"

namespace anyzero::loader {

namespace {

// A single write, so that lines of several threads do not mix.
void print(const char* format, va_list arguments) {
  char line[2048];
  int used = std::snprintf(line, sizeof line, "anyzero loader: ");
  std::vsnprintf(line + used, sizeof line - static_cast<size_t>(used), format, arguments);
  std::fprintf(stderr, "%s\n", line);
}

}  // namespace

void complain(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print(format, arguments);
  va_end(arguments);
}

void trace(const char* format, ...) {
  if (!is_switched_on("ZE_ENABLE_LOADER_DEBUG_TRACE")) return;
  va_list arguments;
  va_start(arguments, format);
  print(format, arguments);
  va_end(arguments);
}

}  // namespace anyzero::loader
