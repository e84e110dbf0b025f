// Lines of source files, for reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace anyzero {

// A line of a file, without the blanks around it; empty if the file cannot be read or has no such line. Compiled code names the
// file, so a program with more privileges than its user (set-user-ID) reads none.
std::string source_line(const char* file, uint32_t line);

// The text in printable form: one line of limited length without control characters.
std::string shown(std::string_view text);

}  // namespace anyzero
