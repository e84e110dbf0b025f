#include "interrupted_code.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <gnu/libc-version.h>
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "../exec/trap.h"

namespace anyzero {

namespace {

const void* library_of(const void* code) {
  Dl_info info{};
  return dladdr(code, &info) ? info.dli_fbase : nullptr;
}

// A program may have a small stack for signals, and no more is needed of it than the handler needs.
bool has_room() {
  constexpr size_t kEnough = 32 * 1024;
  stack_t now;
  return sigaltstack(nullptr, &now) == 0 && (now.ss_flags != SS_ONSTACK || now.ss_size >= kEnough);
}

}  // namespace

void InterruptedCode::read(void* context) {
  void* frames[32];
  if (!context) {
    backtrace(frames, 1);
    return;
  }
  const auto at = reinterpret_cast<void*>(instruction_of(context));
  places_[0] = static_cast<const char*>(at) + 1;
  count_ = 1;
  if (!has_room()) return;
  void** const end = frames + backtrace(frames, static_cast<int>(std::size(frames)));
  // In front of the interrupted place are the handler and what called it.
  for (void** each = std::find(frames, end, at); each < end && ++each < end && count_ < kMost;) places_[count_++] = *each;
}

const void* InterruptedCode::in_program() const {
  const void* const passed_over[] = {library_of(reinterpret_cast<const void*>(&gnu_get_libc_version)),
                                     library_of(reinterpret_cast<const void*>(&library_of))};
  for (const void* const* each = places_; each != places_ + count_; ++each)
    if (std::find(std::begin(passed_over), std::end(passed_over), library_of(*each)) == std::end(passed_over)) return *each;
  return count_ ? places_[0] : nullptr;
}

}  // namespace anyzero
