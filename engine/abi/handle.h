// From a handle, which may be any value at all, to a live object of the right kind.
#pragma once

#include "object.h"

namespace anyzero {

// nullptr unless `handle` is a live T. Costs two compares and one load.
template <class T>
inline T* checked(const void* handle) {
  if (!SlotRange::contains(handle)) return nullptr;
  auto* header = static_cast<Header*>(const_cast<void*>(handle));
  return header->tag.load(std::memory_order_acquire) == T::kTag ? static_cast<T*>(header) : nullptr;
}

// The handle a program gets for an object; the way back is checked().
template <class Handle, class T>
inline Handle handle_of(T* object) {
  return reinterpret_cast<Handle>(static_cast<Header*>(object));
}

}  // namespace anyzero
