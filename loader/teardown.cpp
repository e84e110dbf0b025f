#include "teardown.h"

#include <pthread.h>

#include <atomic>
#include <map>
#include <mutex>
#include <new>

#include "dispatch.h"

namespace anyzero::loader {

namespace {

std::atomic<bool> down{false};
std::mutex registering;
uint32_t last = 0;

// Leaked: a static loader inside a program unregisters from an exit handler.
auto& callbacks() {
  static auto* const registered = new std::map<uint32_t, TeardownCallback>;
  return *registered;
}

const int prepared_for_fork = pthread_atfork(nullptr, nullptr, [] { new (&registering) std::mutex; });

}  // namespace

bool torn_down() { return down.load(std::memory_order_acquire); }

void tear_down() {
  if (down.exchange(true, std::memory_order_acq_rel)) return;
  direct_calls_to(&uninitialized);
  std::map<uint32_t, TeardownCallback> told;
  {
    std::lock_guard lock(registering);
    told.swap(callbacks());
  }
  for (auto [number, callback] : told) callback();
}

uint32_t call_at_teardown(TeardownCallback callback) {
  std::lock_guard lock(registering);
  callbacks().emplace(++last, callback);
  return last;
}

void forget_callback(uint32_t number) {
  std::lock_guard lock(registering);
  callbacks().erase(number);
}

}  // namespace anyzero::loader
