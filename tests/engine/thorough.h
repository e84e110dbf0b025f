// How often a test repeats itself with other random input: a few times by default, more often with THOROUGH=1.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

inline uint32_t examples(uint32_t usual, uint32_t thorough) {
  static const char* const said = std::getenv("THOROUGH");
  return said && std::string_view(said) == "1" ? thorough : usual;
}
