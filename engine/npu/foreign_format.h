// Recognises, by their first bytes, formats that programs pass by mistake as a graph.
#pragma once

#include <span>
#include <string>

namespace anyzero {

// "this is NAME; ADVICE" for bytes in a known format; empty for all others, including native blobs of anyzero.
std::string describe_foreign_format(std::span<const unsigned char> bytes);

}  // namespace anyzero
