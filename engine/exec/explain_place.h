// The place of a fault as text: the source line, and the work-item of the launch.
#pragma once

#include <string>

#include "fault_site.h"
#include "packet.h"

namespace anyzero {

// The calls that lead to an instruction, outermost first, in lines like those of a Python traceback; empty where the code has no
// source lines. `offset` is that of the instruction in the code.
std::string source_stack(const Code& code, uint64_t offset);

// A work-item by its global id, with its group and its place in the group.
std::string work_item_text(const Launch& launch, const uint64_t* global_id);

// The work-items that were running, as far as the site is known.
std::string work_items(const Launch& launch, const FaultSite& site);

// True for the address that a failed assertion stores to. The work-item that it names is known if `address` is one of this launch.
bool is_assertion(uintptr_t address);
std::string asserting(const Launch& launch, const FaultSite& site, uintptr_t address);

}  // namespace anyzero
