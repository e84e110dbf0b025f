// Addresses in reports.
#pragma once

#include <cinttypes>
#include <cstdio>
#include <string>

namespace anyzero {

inline std::string address_text(uintptr_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "%#" PRIxPTR, address);
  return text;
}
inline std::string address_text(const void* address) { return address_text(reinterpret_cast<uintptr_t>(address)); }

}  // namespace anyzero
