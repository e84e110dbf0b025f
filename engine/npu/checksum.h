// CRC-32C at memory bandwidth: every load of a blob, which may have gigabytes, verifies it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace anyzero {

// Checksum of `bytes` that follow data with the checksum `before`.
uint32_t checksum(std::span<const unsigned char> bytes, uint32_t before = 0);

// The table-driven version, for processors without the instruction and for tests.
uint32_t checksum_portable(std::span<const unsigned char> bytes, uint32_t before = 0);

}  // namespace anyzero
