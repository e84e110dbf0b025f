// CRC-32C, as fast as memory: a blob of gigabytes is looked through whenever it is loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace anyzero {

// Of `bytes` behind others whose checksum is `before`.
uint32_t checksum(std::span<const unsigned char> bytes, uint32_t before = 0);

// The same by tables, on any processor; for those without the instruction, and for tests.
uint32_t checksum_portable(std::span<const unsigned char> bytes, uint32_t before = 0);

}  // namespace anyzero
