// Ends kernels that run longer than their limit. Without a limit there is no watchdog.
#pragma once

#include "trap.h"

namespace anyzero {

// Starts the watchdog's thread, before a kernel can exceed its limit. Cheap if it runs already.
void start_watchdog();

// While it lives, this thread runs a kernel with `limit`.
class Watched {
 public:
  explicit Watched(const Limit& limit) {
    if (limit.deadline != UINT64_MAX) show(limit.deadline);
    current_limit = &limit;
  }
  ~Watched() {
    current_limit = nullptr;
    if (current_deadline) current_deadline->store(0, std::memory_order_relaxed);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  static void show(uint64_t deadline);
};

}  // namespace anyzero
