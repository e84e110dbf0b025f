// Build options that this compiler understands.
#pragma once

namespace anyzero {

// Names, separated by blanks.
const char* compiler_options();
// A null `value` stands for any value.
bool knows_compiler_option(const char* name, const char* value);

}  // namespace anyzero
