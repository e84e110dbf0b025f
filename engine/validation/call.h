// A call of the API that check mode looks at.
#pragma once

#include <utility>

#include "../check/finding.h"
#include "../system/watched.h"
#include "callers.h"
#include "early_reads.h"

namespace anyzero {

class CheckedCall {
 public:
  [[gnu::always_inline]] CheckedCall(const char* function, const void* caller) : on_(checks.load(std::memory_order_relaxed) != 0) {
    if (!on_) return;
    outer_ = std::exchange(host_place, {function, caller, false});
    before_call(function);
    if (!passes_while && !host_function_queue) [[unlikely]]
      add_caller();
  }
  ~CheckedCall() {
    if (on_) host_place = outer_;
  }
  CheckedCall(const CheckedCall&) = delete;
  CheckedCall& operator=(const CheckedCall&) = delete;

  explicit operator bool() const { return on_; }

 private:
  const bool on_;
  HostPlace outer_;  // of a call that this one is inside of
};

}  // namespace anyzero
