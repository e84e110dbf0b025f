// Handing out bytes in two calls: first the size, then as much as fits.
#pragma once

#include <algorithm>
#include <cstring>

#include "../abi/gen/ze_api.h"

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

}  // namespace anyzero
