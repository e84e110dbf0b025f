// Fork-safe guards of function-local statics (C++ ABI): if a thread of the parent was initializing one at the fork, the child
// initializes it again. With the standard library's guards, the child would wait for a thread that does not exist.
#include <atomic>
#include <cstdint>

#include "../system/mutex.h"

// The sanitizers bring their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

// Laid out by the ABI: eight bytes, zero at first, of which compiled code reads the first.
struct Guard {
  std::atomic<uint8_t> made;
  anyzero::Mutex making;
};
static_assert(sizeof(Guard) == 8);

}  // namespace

extern "C" {

int __cxa_guard_acquire(Guard* guard) {
  guard->making.lock();
  if (!guard->made.load(std::memory_order_relaxed)) return 1;
  guard->making.unlock();
  return 0;
}

void __cxa_guard_release(Guard* guard) {
  guard->made.store(1, std::memory_order_release);
  guard->making.unlock();
}

void __cxa_guard_abort(Guard* guard) { guard->making.unlock(); }
}

#endif
