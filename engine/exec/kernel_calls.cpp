#include "kernel_calls.h"

#include <string>
#include <utility>

#include "output.h"
#include "printf.h"
#include "trap.h"

void az_printf(anyzero::Worker*, const char* format, const uint64_t* slots, uint32_t n_slots) {
  using namespace anyzero;
  // Not to be torn from locks and allocations; a fault, from a bad address of a text, happens before any lock is taken.
  const Limit* limit = std::exchange(current_limit, nullptr);
  try {
    keep_output(format_printf(format, slots, n_slots));
  } catch (...) {
    // No memory for the text: it is lost, the kernel goes on.
  }
  current_limit = limit;
}

void az_fault(anyzero::Worker*, uint32_t kind, uint64_t value) {
  using namespace anyzero;
  raise({Fault::kRaised + static_cast<int>(kind & 0xFF), static_cast<uintptr_t>(value),
         reinterpret_cast<uintptr_t>(__builtin_return_address(0))});
}
