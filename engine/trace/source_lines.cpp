#include "source_lines.h"

#include <string_view>

#include "../abi/gen/ze_api.h"
#include "recording.h"

namespace anyzero {

namespace {

// Of the calling thread's next call.
constinit thread_local uint64_t noted = 0;

}  // namespace

uint64_t take_line(const void* caller) {
  if (const uint64_t line = noted) {
    noted = 0;
    return line == kNoLine ? 0 : line;
  }
  const LineReader read = line_reader.load(std::memory_order_acquire);
  return read ? read(caller) : 0;
}

extern "C" {

// Who is asked for lines while a recording is made; nullptr for nobody.
ZE_APIEXPORT void zexTraceLinesBy(LineReader reader) { line_reader.store(reader, std::memory_order_release); }

ZE_APIEXPORT void zexTraceNoteLine(uint64_t line) { noted = line; }

// A line of the recording that is made, as a number; 0 where there is none, or the line is beyond what fits.
ZE_APIEXPORT uint64_t zexTraceLine(const char* file, const char* function, uint32_t line) {
  if (!file || !function || line >> kLineBits || !is_recording()) return 0;
  return (place_of_text(file) << kFunctionBits | place_of_text(function)) << kLineBits | line;
}

}  // extern "C"

}  // namespace anyzero
