// Lines of source files, for reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace anyzero {

// A line of a file, without the blanks around it; empty where the file cannot be read or is not that long. Compiled code names the
// file, so a program with more rights than its user reads none.
std::string source_line(const char* file, uint32_t line);

// Fit to be shown: one line of moderate length without control characters.
std::string shown(std::string_view text);

}  // namespace anyzero
