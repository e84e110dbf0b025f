// Objects and memory that the program made while check mode is on, with the places that made them.
#pragma once

#include <cstdint>

#include "../objects/sync/event.h"

namespace anyzero {

void note_new_event(const Event& event, ze_event_pool_handle_t pool, uint32_t index);

// Of contexts that the program has not destroyed.
void report_leaks_at_exit();

}  // namespace anyzero
