// Fast calls of the API from Python: built-in functions whose arguments are integers and None.
//
// ctypes looks up a type to convert each argument, which takes several times as long as an append. This library is loaded by the
// interpreter itself, and resolves the few functions of the stable ABI that it needs there; one binary serves every version.
#include <dlfcn.h>
#include <sys/types.h>

#include <cstdint>

#include "lines.h"

namespace {

using Object = void*;

constexpr int kFastCall = 0x80;  // METH_FASTCALL
constexpr int kMaximum = 12;     // the most parameters of a function of the API

using Body = Object (*)(Object self, const Object* arguments, ssize_t count);

struct Definition {
  const char* name;
  Body body;
  int flags;
  const char* doc;
};

struct Python {
  Object (*new_function)(Definition*, Object self, Object module);
  Object (*new_capsule)(void*, const char* name, void (*)(Object));
  void* (*capsule_pointer)(Object, const char* name);
  uint64_t (*to_number)(Object);
  Object (*from_number)(unsigned long);
  Object (*error)();
  void (*set_error)(Object type, const char* text);
  void (*drop)(Object);
  void* (*save_thread)();
  void (*restore_thread)(void*);
  Object none;
  Object* type_error;
};

Python py;

template <class T>
bool find(T& place, const char* name) {
  place = reinterpret_cast<T>(dlsym(RTLD_DEFAULT, name));
  return place != nullptr;
}

bool find_all() {
  static const bool found =
      find(py.new_function, "PyCFunction_NewEx") && find(py.new_capsule, "PyCapsule_New") &&
      find(py.capsule_pointer, "PyCapsule_GetPointer") && find(py.to_number, "PyLong_AsUnsignedLongLongMask") &&
      find(py.from_number, "PyLong_FromUnsignedLong") && find(py.error, "PyErr_Occurred") &&
      find(py.set_error, "PyErr_SetString") && find(py.drop, "Py_DecRef") && find(py.save_thread, "PyEval_SaveThread") &&
      find(py.restore_thread, "PyEval_RestoreThread") && find(py.none, "_Py_NoneStruct") && find(py.type_error, "PyExc_TypeError");
  return found;
}

// Every parameter of these functions is passed like a 64-bit number, and a callee does not look at registers and slots beyond its
// own.
using Function = uint32_t (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                              uint64_t, uint64_t);

struct Bound {
  Definition definition;
  Function function;
  ssize_t parameters;
};

Object call(Object self, const Object* arguments, ssize_t count) {
  const auto* bound = static_cast<const Bound*>(py.capsule_pointer(self, nullptr));
  if (!bound) return nullptr;
  if (count != bound->parameters) {
    py.set_error(*py.type_error, "wrong number of arguments");
    return nullptr;
  }
  uint64_t a[kMaximum] = {};
  for (ssize_t i = 0; i < count; ++i) {
    if (arguments[i] == py.none) continue;
    a[i] = py.to_number(arguments[i]);
    if (a[i] == ~uint64_t{0} && py.error()) return nullptr;
  }
  if (lines_wanted.load(std::memory_order_relaxed)) [[unlikely]]
    note_line();
  void* state = py.save_thread();
  const uint32_t result = bound->function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
  py.restore_thread(state);
  return py.from_number(result);
}

}  // namespace

// A built-in function that calls `function` with so many parameters; nullptr, with or without an error set, if this Python lacks a
// function that is needed. `name` must stay valid. Called with the GIL.
extern "C" __attribute__((visibility("default"))) Object anyzero_bind(void* function, const char* name, ssize_t parameters) {
  if (!function || parameters < 0 || parameters > kMaximum || !find_all()) return nullptr;
  // Leaked: functions are bound once, and never unbound.
  auto* bound = new Bound{{name, call, kFastCall, nullptr}, reinterpret_cast<Function>(function), parameters};
  Object self = py.new_capsule(bound, nullptr, nullptr);
  if (!self) {
    delete bound;
    return nullptr;
  }
  Object made = py.new_function(&bound->definition, self, nullptr);
  py.drop(self);
  return made;
}
