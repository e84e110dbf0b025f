// The text of a fault in a report of a lost device.
#pragma once

#include <string>

#include "packet.h"
#include "trap.h"

namespace anyzero {

// `packet` is the command that was running, or nullptr.
std::string explain(const Fault& fault, const Packet* packet);
// In check mode, a fault is a finding.
void report_fault(const Fault& fault, const Packet* packet);

}  // namespace anyzero
