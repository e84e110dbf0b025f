// Converts a handle, which may be any value, to a live object of the right kind.
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

// The program's handle of an object; checked() converts it back.
template <class Handle, class T>
inline Handle handle_of(T* object) {
  return reinterpret_cast<Handle>(static_cast<Header*>(object));
}

}  // namespace anyzero
