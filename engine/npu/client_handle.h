// Handles as extension functions get them: a loader that wraps handles does not know these functions, so they may be the loader's
// own, which it translates when asked.
#pragma once

#include <cstdint>

#include "../abi/error.h"
#include "../abi/handle.h"

namespace anyzero {

// As the loader numbers the kinds of handles.
enum class LoaderKind : uint32_t { Driver, Device, Context, CommandQueue, CommandList, Fence, EventPool, Event };

// What a loader in this process has wrapped in `handle`; the same again where there is none, or it wraps nothing.
void* unwrapped(void* handle, LoaderKind kind);

// nullptr unless the handle is, or wraps, a live T.
template <class T>
T* from_client(void* handle, LoaderKind kind) {
  if (T* object = checked<T>(handle)) return object;
  return handle ? checked<T>(unwrapped(handle, kind)) : nullptr;
}

}  // namespace anyzero
