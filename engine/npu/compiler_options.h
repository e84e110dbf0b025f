// Build options that this compiler understands.
#pragma once

namespace anyzero {

// Names with blanks between them.
const char* compiler_options();
// `value` may be null: then any.
bool knows_compiler_option(const char* name, const char* value);

}  // namespace anyzero
