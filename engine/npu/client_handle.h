// Handles passed to extension functions. A loader that wraps handles does not know these functions and passes its own handles on,
// so they are translated here by the loader's function.
#pragma once

#include <cstdint>

#include "../abi/error.h"
#include "../abi/handle.h"

namespace anyzero {

// Handle types, numbered as in the loader.
enum class LoaderKind : uint32_t { Driver, Device, Context, CommandQueue, CommandList, Fence, EventPool, Event };

// The driver handle that a loader in this process has wrapped in `handle`; `handle` itself if no loader wraps handles.
void* unwrapped(void* handle, LoaderKind kind);

// nullptr unless the handle is a live T, or wraps one.
template <class T>
T* from_client(void* handle, LoaderKind kind) {
  if (T* object = checked<T>(handle)) return object;
  return handle ? checked<T>(unwrapped(handle, kind)) : nullptr;
}

}  // namespace anyzero
