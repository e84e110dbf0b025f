// A number for every function of the API, by its name.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anyzero::loader {

enum class FunctionIndex : uint16_t {
#define FUNCTION(name, ...) name,
#include "gen/functions.inc"
};

inline constexpr size_t kFunctions = 0
#define FUNCTION(...) +1
#include "gen/functions.inc"
    ;

}  // namespace anyzero::loader
