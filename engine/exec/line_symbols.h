// Symbols for debuggers: an ELF file with DWARF, made from the line table of a kernel's container.
#pragma once

#include <string>

#include "line_table.h"

namespace anyzero {

// For code at the address `text`; empty if the table has no lines.
std::string line_symbols(const LineTable& lines, const std::string& kernel, uint64_t text, uint64_t bytes);

}  // namespace anyzero
