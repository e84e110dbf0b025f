// Source lines of the program's own machine code, for reports about its calls.
#pragma once

#include <string>

namespace anyzero {

// The text with function and source line behind each place in a file of machine code, "FILE+0x1234", where addr2line finds one.
std::string with_lines(const std::string& text);

}  // namespace anyzero
