// Teardown: a driver may announce that it has ended. The loader itself is never unloaded.
#pragma once

#include <cstdint>

namespace anyzero::loader {

using TeardownCallback = void (*)();

bool torn_down();

// Every call from now on returns UNINITIALIZED; the callbacks are called once.
void tear_down();

// Returns the number by which the callback can be removed.
uint32_t call_at_teardown(TeardownCallback callback);
void forget_callback(uint32_t number);

}  // namespace anyzero::loader
