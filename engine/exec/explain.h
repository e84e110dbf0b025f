// What a loss report says of a fault.
#pragma once

#include <cstddef>

#include "packet.h"
#include "trap.h"

namespace anyzero {

// `packet` is the command that was running, or nullptr.
void explain(const Fault& fault, const Packet* packet, char* text, size_t size);

}  // namespace anyzero
