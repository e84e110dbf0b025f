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
// Noted for the calling thread's next call; nothing is if the time is 0.
inline constinit thread_local CallStart noted_start __attribute__((tls_model("initial-exec"))) = {0, 0};
CallStart read_start(const void* caller);

// Of the call that the calling thread has begun. A line that was noted comes with the time, which is not read twice.
[[gnu::always_inline]] inline CallStart start_of_call(const void* caller) {
  const uint64_t at = noted_start.tick;
  if (!at) [[unlikely]]
    return read_start(caller);
  noted_start.tick = 0;
  return {noted_start.line, at};
}

}  // namespace anyzero
