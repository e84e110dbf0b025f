// Dispatch of calls: one table of all functions, replaced as a whole when the drivers are loaded.
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

// The result of a function that is not available: the code, or the value for "none" if the function returns no code.
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

// A stub of any function type, which only fails.
template <class F, ze_result_t Result>
struct Refuse;
template <ze_result_t Result, class R, class... A>
struct Refuse<R (*)(A...), Result> {
  static R call(A...) { return refusal<R>(Result); }
};

// Before the first successful initialization.
extern const Functions uninitialized;

// For several libraries: each call is dispatched by its handle.
extern const Functions by_handle;

// Threading: written by the thread that initializes or switches a layer, read by every call. The table is never freed. Hidden
// visibility, so that a call reads it without the GOT.
[[gnu::visibility("hidden")]] extern std::atomic<const Functions*> current;

// The table without layers.
[[gnu::visibility("hidden")]] extern std::atomic<const Functions*> beneath;

// Dispatches calls to these functions from now on, through the active layer.
void direct_calls_to(const Functions* functions);
// A layer is active while its count is positive: each switch on needs a switch off.
void switch_on(const Functions* layer);
void switch_off();
bool is_layer_on();

inline const Functions& functions() { return *current.load(std::memory_order_acquire); }

}  // namespace anyzero::loader
