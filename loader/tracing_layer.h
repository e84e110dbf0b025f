// The tracing layer: functions that call the callbacks of the active tracers before and after the driver's.
#pragma once

#include "dispatch.h"
#include "tables.h"

namespace anyzero::loader {

// All functions, traced. Functions of tools and system management cannot be traced, and are passed through.
extern const Functions traced;

// The same as tables, for a loader above this one with a switch of its own.
Tables& traced_tables();

}  // namespace anyzero::loader
