// Waits of a host thread: it polls, helps with the work, polls again for a while, and only then sleeps.
#pragma once

#include "../system/signal.h"
#include "ring.h"

namespace anyzero {

// What a wait is for, in the warning of a long one: "event" and its address, for instance.
struct AwaitedObject {
  const char* kind;
  const void* address;
};

// `ring`, if given, is where the awaited work comes from, done when `position` is. Gives up Python's lock while helping or asleep.
Signal::State host_wait(Signal& signal, uint64_t target, uint64_t timeout, AwaitedObject what, Ring* ring, uint64_t position);

}  // namespace anyzero
