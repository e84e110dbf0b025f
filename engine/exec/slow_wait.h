// The warning about a long wait: the object that is waited for, and the state of its queue.
#pragma once

#include "../system/settings.h"
#include "wait.h"

namespace anyzero {

inline bool warns_of_slow_waits() { return settings.log_level >= 2; }

// `ring`, if given, is the ring of the awaited work; it may be destroyed.
void warn_of_wait(AwaitedObject what, Ring* ring, uint64_t position);

}  // namespace anyzero
