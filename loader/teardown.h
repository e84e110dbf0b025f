// A driver may say that it is gone. Nothing else ends the loader: it is never unloaded and works until the process is no more.
#pragma once

#include <cstdint>

namespace anyzero::loader {

using TeardownCallback = void (*)();

bool torn_down();

// Every call from now on returns UNINITIALIZED; those who asked for it are told, once.
void tear_down();

// The result is the number by which the callback can be forgotten.
uint32_t call_at_teardown(TeardownCallback callback);
void forget_callback(uint32_t number);

}  // namespace anyzero::loader
