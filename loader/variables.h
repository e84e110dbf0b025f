// Environment variables that switch something on.
#pragma once

#include <cstdlib>
#include <cstring>

namespace anyzero::loader {

// As the upstream loader reads them: 1, and 2 where there is more to switch on. Other words, "false" among them, leave it off.
inline bool is_switched_on(const char* variable) {
  const char* value = std::getenv(variable);
  return value && (std::strcmp(value, "1") == 0 || std::strcmp(value, "2") == 0);
}

}  // namespace anyzero::loader
