// Waits of a host thread: it polls, helps with the work, polls again for a while, and only then sleeps.
#pragma once

#include "../system/signal.h"
#include "ring.h"

namespace anyzero {

// The object of a wait, for the warning about a long one: "event" and its address, for instance.
struct AwaitedObject {
  const char* kind;
  const void* address;
};

// `ring`, if given, is the ring of the awaited work, which is done at `position`. Releases the GIL while helping or asleep.
Signal::State host_wait(Signal& signal, uint64_t target, uint64_t timeout, AwaitedObject what, Ring* ring, uint64_t position);

// Runs commands of the ring up to `position` on this thread, as far as a wait without a time limit would before it sleeps.
void help_before_wait(Ring& ring, uint64_t position);

}  // namespace anyzero
