// Where calls go: one table of all functions, replaced as a whole when the drivers are there.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "ze_api.h"

namespace anyzero::loader {

// Every function of the API by its name.
struct Functions {
#define FUNCTION(name, ...) decltype(&::name) name;
#include "gen/functions.inc"
};

// What a function returns when it cannot be carried out: the code, or what stands for "none" where no code is returned.
template <class R>
constexpr R refusal(ze_result_t result) {
  if constexpr (std::is_same_v<R, ze_result_t>) {
    return result;
  } else if constexpr (std::is_pointer_v<R>) {
    return nullptr;
  } else {
    return static_cast<R>(UINT32_MAX);
  }
}

// A function of any type that only says no.
template <class F, ze_result_t Result>
struct Refuse;
template <ze_result_t Result, class R, class... A>
struct Refuse<R (*)(A...), Result> {
  static R call(A...) { return refusal<R>(Result); }
};

// Before the first successful initialization.
extern const Functions uninitialized;

// For several libraries: each call finds its function through the handle that it is about.
extern const Functions by_handle;

// Threading: written by the thread that initializes, read by every call. What it points to is never freed.
// Hidden, so that a call reads it without a detour.
[[gnu::visibility("hidden")]] extern std::atomic<const Functions*> current;

inline const Functions& functions() { return *current.load(std::memory_order_acquire); }

}  // namespace anyzero::loader
