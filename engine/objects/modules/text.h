// Returns bytes and texts to programs: in two calls, first the size, then as much as fits; or in a field of a structure.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "../../abi/gen/ze_api.h"

namespace anyzero {

template <class Size, class To>
ze_result_t copy_out(const void* bytes, size_t available, Size* size, To* to) {
  if (to && *size) {
    *size = std::min(*size, static_cast<Size>(available));
    std::memcpy(to, bytes, *size);
  } else {
    *size = static_cast<Size>(available);
  }
  return ZE_RESULT_SUCCESS;
}

// Truncated if necessary, and zero-terminated.
template <size_t N>
void put_text(char (&to)[N], const std::string& from) {
  const size_t size = std::min(from.size(), N - 1);
  std::memcpy(to, from.data(), size);
  std::memset(to + size, 0, N - size);
}

}  // namespace anyzero
