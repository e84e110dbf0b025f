// Source lines of recorded calls, from a language that has lines of its own: Python. It notes the line of its thread before a call,
// or is asked.
#pragma once

#include <atomic>
#include <cstdint>

namespace anyzero {

// Noted where a line exists that is not worth looking for.
inline constexpr uint64_t kNoLine = ~uint64_t{0};

// A line as record_line() takes it, of a call from `caller` that no line was noted for; 0 if it is none of the language's.
using LineReader = uint64_t (*)(const void* caller);
inline constinit std::atomic<LineReader> line_reader{nullptr};

inline bool lines_are_read() { return line_reader.load(std::memory_order_relaxed); }

// The line of the call that the calling thread has begun.
uint64_t take_line(const void* caller);

}  // namespace anyzero
