// The place in the program at which a signal interrupted a thread.
#pragma once

#include <cstddef>

namespace anyzero {

class InterruptedCode {
 public:
  // For the handler of the signal, with its context. nullptr: makes later calls safe there, as the first one may load a library.
  void read(void* context);
  explicit operator bool() const { return count_; }
  // The innermost place outside of the C library, which programs read memory with, and of this one. As a return address: behind the
  // instruction.
  const void* in_program() const;

 private:
  static constexpr size_t kMost = 12;
  const void* places_[kMost] = {};
  size_t count_ = 0;
};

}  // namespace anyzero
