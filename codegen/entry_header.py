"""entry.h: what every generated entry point includes."""

from __future__ import annotations

from codegen.outputs import Output, slashes

_TEXT = """
#pragma once

#include <cxxabi.h>

#include <exception>
#include <new>
#include <type_traits>

#include "../error.h"
#include "../handle.h"
#include "../use.h"
#include "checks.h"
#include "ze_api.h"

namespace anyzero {

// The failing paths, kept out of the entry points so that the good path stays small.

[[gnu::cold, gnu::noinline]] inline ze_result_t unsupported(const char* function) {
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "%s is not implemented; see `anyzero docs coverage`", function);
}

[[gnu::cold, gnu::noinline]] inline ze_result_t null_pointer(const char* function, const char* parameter) {
  return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "%s: %s must not be null", function, parameter);
}

[[gnu::cold, gnu::noinline]] inline ze_result_t unknown_value(const char* function, const char* name, uint32_t value) {
  return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "%s: %s has no meaning with value %#x", function, name, value);
}

[[gnu::cold, gnu::noinline]] inline ze_result_t broken_rule(ze_result_t result, const char* function,
                                                            const char* rule) {
  return fail(result, "%s: not allowed: %s", function, rule);
}

// Called while an exception is being handled: none may cross the C ABI.
[[gnu::cold, gnu::noinline]] inline ze_result_t caught(const char* function) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "%s: out of host memory", function);
  } catch (const std::exception& error) {
    return fail(ZE_RESULT_ERROR_UNKNOWN, "%s: %s", function, error.what());
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread itself is being ended, which nothing may stop
  } catch (...) {
    return fail(ZE_RESULT_ERROR_UNKNOWN, "%s: unknown failure", function);
  }
}

// An array of handles, every one of them checked, as the objects they are.
template <class T, class Handle>
inline T* const* objects(Handle* handles) {
  static_assert(!std::is_polymorphic_v<T>, "a handle must be the address of its object");
  return reinterpret_cast<T* const*>(handles);
}

}  // namespace anyzero
"""


def output() -> Output:
    return Output("engine/abi/gen/entry.h", slashes() + _TEXT)
