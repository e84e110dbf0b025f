// Messages of the loader on stderr.
#pragma once

namespace anyzero::loader {

// Something was left out that the user asked for.
__attribute__((format(printf, 1, 2), cold)) void complain(const char* format, ...);

// Traces, with ZE_ENABLE_LOADER_DEBUG_TRACE.
__attribute__((format(printf, 1, 2), cold)) void trace(const char* format, ...);

}  // namespace anyzero::loader
