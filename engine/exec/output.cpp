#include "output.h"

#include <cstdio>
#include <string>

#include "../system/interpreter_lock.h"
#include "../system/long_steps.h"
#include "../system/mutex.h"

namespace anyzero {

std::atomic<bool> output_kept{false};

namespace {

Guarded<std::string>& kept() {
  static auto* kept = new Guarded<std::string>;  // leaked: kernels may print while the program exits
  return *kept;
}

// Two threads that flush at the same time must keep the order.
Mutex writing;

constexpr size_t kMost = 1 << 20;

}  // namespace

void keep_output(std::string_view text) {
  size_t size;
  {
    auto open = kept().open();
    open->append(text);
    size = open->size();
    output_kept.store(true, std::memory_order_release);
  }
  if (size > kMost) flush_output();
}

void flush_output() {
  ++long_steps;
  GilPause pause;  // the reader at the other end may need the interpreter
  std::lock_guard lock(writing);
  std::string text;
  {
    auto open = kept().open();
    text.swap(*open);
    output_kept.store(false, std::memory_order_release);
  }
  if (text.empty()) return;
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace anyzero
