// Environment variables that switch something on.
#pragma once

#include <cstdlib>
#include <cstring>

namespace anyzero::loader {

inline bool is_switched_on(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value && std::strcmp(value, "0") != 0;
}

}  // namespace anyzero::loader
