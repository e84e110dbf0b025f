// The lines of a kernel in the form that debuggers read: an ELF file with DWARF, made from the line table of its container.
#pragma once

#include <string>

#include "line_table.h"

namespace anyzero {

// Of code that lies at `text`; empty where the table has no lines.
std::string line_symbols(const LineTable& lines, const std::string& kernel, uint64_t text, uint64_t bytes);

}  // namespace anyzero
