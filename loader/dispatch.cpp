#include "dispatch.h"

#include <pthread.h>

#include <mutex>
#include <new>

namespace anyzero::loader {

constinit const Functions uninitialized = {
#define FUNCTION(name, ...) .name = Refuse<decltype(&::name), ZE_RESULT_ERROR_UNINITIALIZED>::call,
#include "gen/functions.inc"
};

constinit std::atomic<const Functions*> current{&uninitialized};
constinit std::atomic<const Functions*> beneath{&uninitialized};

namespace {

std::mutex switching;
const Functions* between = nullptr;
constinit std::atomic<uint32_t> wanted{0};

const int prepared_for_fork =
    pthread_atfork([] { switching.lock(); }, [] { switching.unlock(); }, [] { new (&switching) std::mutex; });

void choose() { current.store(is_layer_on() ? between : beneath.load(std::memory_order_relaxed), std::memory_order_release); }

}  // namespace

void direct_calls_to(const Functions* functions) {
  std::lock_guard lock(switching);
  beneath.store(functions, std::memory_order_release);
  choose();
}

void switch_on(const Functions* layer) {
  std::lock_guard lock(switching);
  between = layer;
  wanted.fetch_add(1);
  choose();
}

void switch_off() {
  std::lock_guard lock(switching);
  if (is_layer_on()) wanted.fetch_sub(1);
  choose();
}

bool is_layer_on() { return wanted.load(std::memory_order_acquire) != 0; }

}  // namespace anyzero::loader
