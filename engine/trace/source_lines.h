// Source lines of recorded calls from Python. The binding notes the line before a call; for other calls, a reader is asked.
#pragma once

#include <atomic>
#include <cstdint>

namespace anyzero {

// A line as Recorder::record_line() takes it, of a call from `caller` that no line was noted for; 0 if it is none of the
// language's.
using LineReader = uint64_t (*)(const void* caller);
inline constinit std::atomic<LineReader> line_reader{nullptr};

inline bool lines_are_read() { return line_reader.load(std::memory_order_relaxed); }

// The line that a call comes from, 0 for none, and when it began: by the processor's counter.
struct CallStart {
  uint64_t line, tick;
};
// Of the call that the calling thread has begun. A line that was noted comes with the time, which is not read twice.
CallStart start_of_call(const void* caller);

}  // namespace anyzero
