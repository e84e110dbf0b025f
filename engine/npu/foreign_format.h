// Formats that are handed over by mistake where a graph is expected, recognised by their first bytes.
#pragma once

#include <span>
#include <string>

namespace anyzero {

// "this is NAME; ADVICE" for bytes in a known format; empty for all others. Says nothing about native blobs of anyzero.
std::string describe_foreign_format(std::span<const unsigned char> bytes);

}  // namespace anyzero
