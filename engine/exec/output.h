// Output of kernels' printf, kept until the program waits for the device.
#pragma once

#include <atomic>
#include <string_view>

namespace anyzero {

// Threading: any thread.
void keep_output(std::string_view text);

// Writes the kept output to the program's standard output.
void flush_output();

extern std::atomic<bool> output_kept;
// Called whenever a host thread has seen commands complete.
inline void show_output() {
  if (output_kept.load(std::memory_order_acquire)) flush_output();
}

}  // namespace anyzero
