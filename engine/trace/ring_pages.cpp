#include "ring_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <deque>

#include "../system/mutex.h"
#include "../system/signal.h"
#include "../system/thread.h"

namespace anyzero {

namespace {

struct Pages {
  void* begin;
  size_t bytes;
};

struct Requests {
  std::deque<Pages> pages;
  bool served = false;  // a thread looks at them
};
Guarded<Requests>& requests() {
  static auto* all = new Guarded<Requests>;  // leaked: threads run until the process ends
  return *all;
}
constinit std::atomic<uint32_t> bell{0};

// False if the system cannot do that.
bool provide(const Pages& pages) {
  const auto size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(pages.begin) / size * size;
  const uintptr_t end = reinterpret_cast<uintptr_t>(pages.begin) + pages.bytes;
  return madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE) == 0 || errno != EINVAL;
}

// Ends when nothing has come for a while.
void* serve(void*) {
  constexpr uint64_t kIdle = 1'000'000'000;
  for (bool waited = false;;) {
    FutexWord word{&bell, bell.load(std::memory_order_acquire)};
    Pages next{};
    {
      auto open = requests().open();
      if (!open->pages.empty()) {
        next = open->pages.front();
        open->pages.pop_front();
      } else if (waited) {
        open->served = false;
        return nullptr;
      }
    }
    if (!next.begin) {
      futex_sleep_any(&word, 1, kIdle);
      waited = true;
    } else if (provide(next)) {
      waited = false;
    } else {
      return nullptr;  // and is never asked again
    }
  }
}

}  // namespace

void provide_pages(void* begin, size_t bytes) {
  {
    auto open = requests().open();
    if (!open->served) open->served = start_thread(serve, nullptr, "az-pages");
    if (!open->served) return;
    open->pages.push_back({begin, bytes});
  }
  bell.fetch_add(1, std::memory_order_release);
  futex_wake(&bell, 1);
}

}  // namespace anyzero
