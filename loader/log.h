// Messages of the loader on stderr.
#pragma once

namespace anyzero::loader {

// Reports that a request of the user was ignored.
__attribute__((format(printf, 1, 2), cold)) void complain(const char* format, ...);

// Traces, with ZE_ENABLE_LOADER_DEBUG_TRACE.
__attribute__((format(printf, 1, 2), cold)) void trace(const char* format, ...);

}  // namespace anyzero::loader
