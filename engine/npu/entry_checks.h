// Prologue and epilogue of the extensions' functions: they check the arguments and catch all exceptions.
#pragma once

#include <string_view>

#include "../abi/gen/entry.h"
#include "../trace/calls.h"
#include "client_handle.h"

namespace anyzero {

// The name of a function in this namespace, from the compiler.
template <auto F>
constexpr std::string_view entry_name() {
  constexpr std::string_view all = __PRETTY_FUNCTION__;
  constexpr size_t begin = all.rfind("::", all.find_first_of(";]", all.find("F = "))) + 2;
  return all.substr(begin, all.find_first_of(";]", begin) - begin);
}

template <auto F>
struct SafeEntry;
template <class... Args, ze_result_t (*F)(Args...)>
struct SafeEntry<F> {
  static ze_result_t call(Args... args) {
    if (!is_recording()) [[likely]]
      return plain(args...);
    CallRecord record(0);
    const ze_result_t result = plain(args...);
    record.returned_from(entry_name<F>(), result);
    return result;
  }

  static ze_result_t plain(Args... args) {
    try {
      return F(args...);
    } catch (...) {
      return caught("a function of an extension");
    }
  }
};

// The dispatch table's entry for `F`.
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
