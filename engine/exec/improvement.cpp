#include "improvement.h"

#include "../system/signal.h"
#include "code.h"

namespace anyzero {

void ImprovementLine::put(Code& code, Improvement& improvement) {
  improvement.next = last_.load(std::memory_order_relaxed);
  while (!last_.compare_exchange_weak(improvement.next, &code, std::memory_order_release, std::memory_order_relaxed)) {
  }
  bell_.fetch_add(1, std::memory_order_release);
  futex_wake(&bell_, 1);
}

Code* ImprovementLine::take() {
  for (;;) {
    const uint32_t seen = bell_.load(std::memory_order_acquire);
    Code* found = last_.load(std::memory_order_acquire);
    // Only this thread takes, so what is behind the last one stays there meanwhile.
    while (found && !last_.compare_exchange_weak(found, found->improvement()->next, std::memory_order_acquire)) {
    }
    if (found) return found;
    FutexWord word{&bell_, seen};
    futex_sleep_any(&word, 1, kForever);
  }
}

ImprovementLine& improvement_line() {
  static constinit ImprovementLine line;  // trivially destroyed: threads of ours run on while the process exits
  return line;
}

}  // namespace anyzero
