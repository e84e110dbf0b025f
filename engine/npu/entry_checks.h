// How functions of the extensions begin and end: they find out what they were given, and let no exception out.
#pragma once

#include "../abi/gen/entry.h"
#include "client_handle.h"

namespace anyzero {

template <auto F>
struct SafeEntry;
template <class... Args, ze_result_t (*F)(Args...)>
struct SafeEntry<F> {
  static ze_result_t call(Args... args) {
    try {
      return F(args...);
    } catch (...) {
      return caught("a function of an extension");
    }
  }
};

// What a table holds for `F`.
template <auto F>
inline constexpr auto safe = SafeEntry<F>::call;

}  // namespace anyzero

#define GIVEN(T, variable, handle)                     \
  T* variable = from_client<T>(handle, LoaderKind::T); \
  if (!variable) return bad_handle(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, __func__, #handle, handle)
#define OURS(T, variable, handle)   \
  T* variable = checked<T>(handle); \
  if (!variable) return bad_handle(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, __func__, #handle, handle)
#define NEEDED(pointer) \
  if (!pointer) return null_pointer(__func__, #pointer)
