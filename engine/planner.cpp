#include "planner.h"

#include <dlfcn.h>
#include <sys/types.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace anyzero {

namespace {

using Object = void*;

// The stable-ABI functions we use, found in the running process, so that one binary serves every Python and hosts without one.
struct Python {
  int (*is_initialized)();
  int (*is_finalizing)();  // absent before 3.13
  int (*gil_check)();
  int (*gil_ensure)();
  void (*gil_release)(int);
  void* (*save_thread)();
  void (*restore_thread)(void*);
  Object (*import_module)(const char*);
  Object (*get_attribute)(Object, const char*);
  Object (*call)(Object, Object);
  int (*bytes_and_size)(Object, char**, ssize_t*);
  void (*decref)(Object);
  void (*error_fetch)(Object*, Object*, Object*);
  void (*error_normalize)(Object*, Object*, Object*);
  Object (*to_string)(Object);
  const char* (*utf8)(Object, ssize_t*);

  bool running() const { return is_initialized() && !(is_finalizing && is_finalizing()); }
};

template <class F>
bool find(F& function, const char* name) {
  function = reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

bool find_all(Python& p) {
  find(p.is_finalizing, "Py_IsFinalizing");
  return find(p.is_initialized, "Py_IsInitialized") && find(p.gil_check, "PyGILState_Check") &&
         find(p.gil_ensure, "PyGILState_Ensure") && find(p.gil_release, "PyGILState_Release") &&
         find(p.save_thread, "PyEval_SaveThread") && find(p.restore_thread, "PyEval_RestoreThread") &&
         find(p.import_module, "PyImport_ImportModule") && find(p.get_attribute, "PyObject_GetAttrString") &&
         find(p.call, "PyObject_CallObject") && find(p.bytes_and_size, "PyBytes_AsStringAndSize") && find(p.decref, "Py_DecRef") &&
         find(p.error_fetch, "PyErr_Fetch") && find(p.error_normalize, "PyErr_NormalizeException") &&
         find(p.to_string, "PyObject_Str") && find(p.utf8, "PyUnicode_AsUTF8AndSize");
}

// nullptr while there is no running interpreter in this process; one may come later.
const Python* python() {
  static Python functions;
  static std::atomic<bool> complete{false};
  static std::mutex mutex;
  if (!complete.load(std::memory_order_acquire)) {
    std::lock_guard lock(mutex);
    if (!complete.load(std::memory_order_relaxed)) complete.store(find_all(functions), std::memory_order_release);
    if (!complete.load(std::memory_order_relaxed)) return nullptr;
  }
  return functions.running() ? &functions : nullptr;
}

// The pending Python error as text; clears it.
std::string take_error(const Python& py) {
  Object type = nullptr, value = nullptr, trace = nullptr;
  py.error_fetch(&type, &value, &trace);
  py.error_normalize(&type, &value, &trace);
  std::string text = "unknown Python error";
  if (Object string = value ? py.to_string(value) : nullptr) {
    if (const char* utf8 = py.utf8(string, nullptr)) text = utf8;
    py.decref(string);
  }
  for (Object object : {type, value, trace})
    if (object) py.decref(object);
  return text;
}

bool describe_by_python(const Python& py, std::vector<unsigned char>* description, std::string* reason) {
  int gil = py.gil_ensure();
  bool good = false;
  Object module = py.import_module("anyzero.driver.boot");
  Object function = module ? py.get_attribute(module, "describe") : nullptr;
  Object bytes = function ? py.call(function, nullptr) : nullptr;
  char* data = nullptr;
  ssize_t size = 0;
  if (bytes && py.bytes_and_size(bytes, &data, &size) == 0) {
    description->assign(data, data + size);
    good = true;
  } else {
    *reason = "anyzero.driver.boot.describe failed: " + take_error(py);
  }
  for (Object object : {bytes, function, module})
    if (object) py.decref(object);
  py.gil_release(gil);
  return good;
}

bool describe_by_file(const char* path, std::vector<unsigned char>* description, std::string* reason) {
  FILE* file = std::fopen(path, "rbe");
  if (!file) {
    *reason = std::string("cannot open ANYZERO_DESCRIPTION=") + path;
    return false;
  }
  unsigned char buffer[4096];
  while (size_t n = std::fread(buffer, 1, sizeof buffer, file)) description->insert(description->end(), buffer, buffer + n);
  std::fclose(file);
  return true;
}

}  // namespace

bool describe_machine(std::vector<unsigned char>* description, std::string* reason) {
  if (const char* path = std::getenv("ANYZERO_DESCRIPTION"); path && *path) return describe_by_file(path, description, reason);
  if (const Python* py = python()) return describe_by_python(*py, description, reason);
  *reason =
      "there is no Python in this process and no prepared description; run `python -m anyzero.driver > FILE` once and set "
      "ANYZERO_DESCRIPTION=FILE";
  return false;
}

GilPause::GilPause() : state_(nullptr) {
  const Python* py = python();
  if (py && py->gil_check()) state_ = py->save_thread();
}

GilPause::~GilPause() noexcept(false) {
  if (!state_) return;
  if (const Python* py = python()) py->restore_thread(state_);
}

}  // namespace anyzero
