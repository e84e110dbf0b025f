// How a host thread waits: it looks, lends itself to the work, looks again for a while, and only then sleeps.
#pragma once

#include "ring.h"
#include "signal.h"

namespace anyzero {

// `ring`, if given, is where the awaited work comes from. Gives up Python's lock while asleep.
Signal::State host_wait(Signal& signal, uint64_t target, uint64_t timeout, Ring* ring = nullptr);

}  // namespace anyzero
