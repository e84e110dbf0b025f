// Ends kernels that run longer than they may. There is no watchdog while kernels may run for ever.
#pragma once

#include "trap.h"

namespace anyzero {

// Has a thread of its own by the time a kernel may run late. Cheap when it has.
void start_watchdog();

// As long as it lives, this thread runs a kernel that is held to `limit`.
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
