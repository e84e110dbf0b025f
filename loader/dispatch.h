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

// Threading: written by the thread that initializes or switches a layer, read by every call. What it points to is never freed.
// Hidden, so that a call reads it without a detour.
[[gnu::visibility("hidden")]] extern std::atomic<const Functions*> current;

// Where calls go if no layer is between.
[[gnu::visibility("hidden")]] extern std::atomic<const Functions*> beneath;

// Calls go there from now on, through the layer that is switched on.
void direct_calls_to(const Functions* functions);
// A layer is between as long as somebody wants it: each switch on needs a switch off.
void switch_on(const Functions* layer);
void switch_off();
bool is_layer_on();

inline const Functions& functions() { return *current.load(std::memory_order_acquire); }

}  // namespace anyzero::loader
