// How the functions of plain C++ get at a kernel's arguments.

#pragma once

#include <cstdint>

using Size = const int64_t*;

template <typename T>
inline T* array(void** args, int i) {
  return static_cast<T*>(args[i]);
}
template <typename T>
inline T value(void** args, int i) {
  return *static_cast<T*>(args[i]);
}
