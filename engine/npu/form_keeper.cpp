#include "form_keeper.h"

#include <deque>

#include "../system/mutex.h"
#include "../system/thread.h"
#include "openvino.h"

namespace anyzero {

namespace {

struct Jobs {
  std::deque<std::function<void()>> waiting;
  bool running = false;
  uint32_t generation = 0;  // fork generation: a child inherits its parent's jobs, but not the thread
};

Guarded<Jobs>& jobs() {
  static auto* all = new Guarded<Jobs>;  // leaked: the thread outlives everything else
  return *all;
}

bool next(std::function<void()>* job) {
  auto all = jobs().open();
  all->running = !all->waiting.empty();
  if (!all->running) return false;
  *job = std::move(all->waiting.front());
  all->waiting.pop_front();
  return true;
}

void* work(void*) {
  for (std::function<void()> job; next(&job);) {
    // Process exit waits for this, as for any call of the library.
    if (OpenVinoCall call; call) job();
  }
  return nullptr;
}

}  // namespace

void keep_form_later(std::function<void()> job) {
  auto all = jobs().open();
  const uint32_t now = fork_generation.load(std::memory_order_relaxed);
  if (all->generation != now) {
    all->waiting.clear();
    all->running = false;
    all->generation = now;
  }
  all->waiting.push_back(std::move(job));
  if (all->running) return;
  all->running = start_thread(work, nullptr, "az-keeper");
  if (!all->running) all->waiting.clear();
}

}  // namespace anyzero
