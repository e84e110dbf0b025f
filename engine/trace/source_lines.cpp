#include "source_lines.h"

#include <string_view>

#include "../abi/gen/ze_api.h"
#include "recording.h"

namespace anyzero {

CallStart read_start(const void* caller) {
  const LineReader read = line_reader.load(std::memory_order_acquire);
  const uint64_t line = read ? read(caller) : 0;
  return {line, ticks()};
}

extern "C" {

// Sets the reader of source lines for a recording; nullptr for none.
ZE_APIEXPORT void zexTraceLinesBy(LineReader reader) { line_reader.store(reader, std::memory_order_release); }

// Notes the line of the calling thread's next call, 0 for none, and when the call begins.
ZE_APIEXPORT void zexTraceNoteLine(uint64_t line, uint64_t tick) { noted_start = {line, tick}; }

// Encodes a line for the recording in progress; 0 without one, or if the line does not fit.
ZE_APIEXPORT uint64_t zexTraceLine(const char* file, const char* function, uint32_t line) {
  if (!file || !function || line >> kLineBits || !is_recording()) return 0;
  return (place_of_text(file) << kFunctionBits | place_of_text(function)) << kLineBits | line;
}

}  // extern "C"

}  // namespace anyzero
