// The warning of a wait that lasts long: what it is for, and what the queue does meanwhile.
#pragma once

#include "../system/settings.h"
#include "wait.h"

namespace anyzero {

inline bool warns_of_slow_waits() { return settings.log_level >= 2; }

// `ring`, if given, is where the awaited work comes from; it may be gone.
void warn_of_wait(AwaitedObject what, Ring* ring, uint64_t position);

}  // namespace anyzero
