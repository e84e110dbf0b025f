// Results that the host reads after a wait for an event that makes nothing visible to the host.
#pragma once

#include "../abi/gen/ze_api.h"

namespace anyzero {

// Only with the checks of `strict`; counting events are left out, as are those that the host cannot wait for.
bool lacks_host_scope(ze_event_handle_t event);
// A command that signals the event writes this memory.
void note_result(ze_event_handle_t event, const void* memory);
// The host has waited for the event. A query may want to know no more than whether the command has run.
void check_host_scope(ze_result_t result, ze_event_handle_t event);
void forget_results(const void* event);

}  // namespace anyzero
