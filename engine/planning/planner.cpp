#include "planner.h"

#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "../system/clock.h"
#include "../system/interpreter_lock.h"
#include "../system/mutex.h"
#include "environment.h"
#include "fallback.h"
#include "interpreter.h"
#include "process.h"

namespace anyzero {

namespace {

using PythonObject = void*;

// Functions of the stable ABI, resolved in the running process, so that one binary serves every Python and hosts without one.
struct Python {
  int (*is_initialized)();
  int (*is_finalizing)();    // absent before 3.13
  void* (*thread_state)();   // this thread's, whether it runs or not
  void* (*running_state)();  // the one that holds the GIL: of this thread from 3.12 on, of any thread before
  int (*gil_ensure)();
  void (*gil_release)(int);
  void* (*save_thread)();
  void (*restore_thread)(void*);
  PythonObject (*import_module)(const char*);
  PythonObject (*get_attribute)(PythonObject, const char*);
  PythonObject (*call)(PythonObject, PythonObject);
  PythonObject (*call_with)(PythonObject, ...);
  PythonObject (*make_bytes)(const char*, ssize_t);
  int (*bytes_and_size)(PythonObject, char**, ssize_t*);
  void (*decref)(PythonObject);
  void (*error_fetch)(PythonObject*, PythonObject*, PythonObject*);
  void (*error_normalize)(PythonObject*, PythonObject*, PythonObject*);
  PythonObject (*to_string)(PythonObject);
  const char* (*utf8)(PythonObject, ssize_t*);

  bool running() const { return is_initialized() && !(is_finalizing && is_finalizing()); }
};

template <class F>
bool find(F& function, const char* name) {
  function = reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

bool find_all(Python& p) {
  find(p.is_finalizing, "Py_IsFinalizing");
  return find(p.is_initialized, "Py_IsInitialized") && find(p.thread_state, "PyGILState_GetThisThreadState") &&
         (find(p.running_state, "PyThreadState_GetUnchecked") || find(p.running_state, "_PyThreadState_UncheckedGet")) &&
         find(p.gil_ensure, "PyGILState_Ensure") && find(p.gil_release, "PyGILState_Release") &&
         find(p.save_thread, "PyEval_SaveThread") && find(p.restore_thread, "PyEval_RestoreThread") &&
         find(p.import_module, "PyImport_ImportModule") && find(p.get_attribute, "PyObject_GetAttrString") &&
         find(p.call, "PyObject_CallObject") && find(p.call_with, "PyObject_CallFunctionObjArgs") &&
         find(p.make_bytes, "PyBytes_FromStringAndSize") && find(p.bytes_and_size, "PyBytes_AsStringAndSize") &&
         find(p.decref, "Py_DecRef") && find(p.error_fetch, "PyErr_Fetch") && find(p.error_normalize, "PyErr_NormalizeException") &&
         find(p.to_string, "PyObject_Str") && find(p.utf8, "PyUnicode_AsUTF8AndSize");
}

// nullptr while no Python is loaded in this process; it may be loaded later.
const Python* python() {
  static Python functions;
  static std::atomic<bool> complete{false};
  static std::atomic<uint64_t> look_again{0};
  static Mutex mutex;
  if (complete.load(std::memory_order_acquire)) return &functions;
  constexpr uint64_t kPatience = 100'000'000;  // not every wait should pay for the search
  if (now_ns() < look_again.load(std::memory_order_relaxed)) return nullptr;
  std::lock_guard lock(mutex);
  if (!complete.load(std::memory_order_relaxed)) complete.store(find_all(functions), std::memory_order_release);
  look_again.store(now_ns() + kPatience, std::memory_order_relaxed);
  return complete.load(std::memory_order_relaxed) ? &functions : nullptr;
}

// The pending Python error as text; clears it.
std::string take_error(const Python& py) {
  PythonObject type = nullptr, value = nullptr, trace = nullptr;
  py.error_fetch(&type, &value, &trace);
  py.error_normalize(&type, &value, &trace);
  std::string text = "unknown Python error";
  if (PythonObject string = value ? py.to_string(value) : nullptr) {
    if (const char* utf8 = py.utf8(string, nullptr)) text = utf8;
    py.decref(string);
  }
  for (PythonObject object : {type, value, trace})
    if (object) py.decref(object);
  return text;
}

// Does the Python in this process plan? Only if our package said so: another Python may lack the package, and a program that does
// not use it may hold the GIL while its threads call the driver.
std::atomic<bool> plans_here{false};

// Are manifests of graphs made by a planning process even so? One request describes a whole graph, so any Python can do it.
// OpenVINO in the program has locks of its own: one thread may hold them while it compiles, and another may wait for them with the
// GIL.
std::atomic<bool> graphs_beside{false};

// The Python that plans, if it is one in this process; nullptr for a process of its own.
const Python* planning_python() {
  if (!plans_here.load(std::memory_order_relaxed)) return nullptr;
  const Python* py = python();
  return py && py->running() ? py : nullptr;
}

// Calls `module`.`name` with `request`, or without arguments if there is none. The reply is bytes, too.
bool call_python(const Python& py, const char* module_name, const char* name, const std::string* request, std::string* reply,
                 std::string* reason) {
  int gil = py.gil_ensure();
  bool good = false;
  PythonObject module = py.import_module(module_name);
  PythonObject function = module ? py.get_attribute(module, name) : nullptr;
  PythonObject argument = function && request ? py.make_bytes(request->data(), static_cast<ssize_t>(request->size())) : nullptr;
  PythonObject bytes = nullptr;
  if (function && !request) bytes = py.call(function, nullptr);
  if (argument) bytes = py.call_with(function, argument, nullptr);
  char* data = nullptr;
  ssize_t size = 0;
  if (bytes && py.bytes_and_size(bytes, &data, &size) == 0) {
    reply->assign(data, static_cast<size_t>(size));
    good = true;
  } else {
    *reason = std::string(module_name) + "." + name + " failed: " + take_error(py);
  }
  for (PythonObject object : {bytes, argument, function, module})
    if (object) py.decref(object);
  py.gil_release(gil);
  return good;
}

bool describe_by_python(const Python& py, std::vector<unsigned char>* description, std::string* reason) {
  std::string bytes;
  if (!call_python(py, "anyzero.driver.devices.boot", "describe", nullptr, &bytes, reason)) return false;
  description->assign(bytes.begin(), bytes.end());
  return true;
}

bool describe_by_process(std::vector<unsigned char>* description, std::string* reason) {
  GilPause pause;
  std::string bytes;
  switch (ask_planning_process("describe", "", &bytes, reason)) {
    case Connection::Outcome::Answered:
      description->assign(bytes.begin(), bytes.end());
      return true;
    case Connection::Outcome::Refused:
    case Connection::Outcome::Broken:
    case Connection::Outcome::Unheard:
      return false;
    case Connection::Outcome::Useless:
      break;
  }
  return describe_without_python(description, reason);
}

// A C program that got no driver has none to ask for the text either.
void complain(const std::string& reason) {
  static std::once_flag once;
  std::call_once(once, [&] { std::fprintf(stderr, "anyzero: %s\n", reason.c_str()); });
}

}  // namespace

bool describe_machine(std::vector<unsigned char>* description, std::string* reason) {
  if (const char* path = path_variable("ANYZERO_DESCRIPTION")) {
    if (describe_by_file(path, description, reason)) return true;
    *reason = "ANYZERO_DESCRIPTION=" + *reason + "; it takes a file written by `python -m anyzero.driver > FILE`";
    complain(*reason);
    return false;
  }
  if (const Python* py = planning_python()) return describe_by_python(*py, description, reason);
  const bool good = describe_by_process(description, reason);
  if (!good) complain(*reason);
  return good;
}

bool call_planner(const char* function, const std::string& request, std::string* reply, std::string* reason) {
  if (graphs_beside.load(std::memory_order_relaxed) && std::string_view(function).starts_with("graphs.")) {
    GilPause pause;
    const Connection::Outcome outcome = ask_planning_process(function, request, reply, reason);
    // If none can be started, the Python in this process plans.
    if (outcome != Connection::Outcome::Useless || !planning_python()) return outcome == Connection::Outcome::Answered;
  }
  if (const Python* py = planning_python()) {
    const std::string_view whole = function;
    const size_t dot = whole.rfind('.');
    const bool named = dot != whole.npos;
    const std::string module = "anyzero.driver." + std::string(named ? whole.substr(0, dot) : "modules") + ".requests";
    return call_python(*py, module.c_str(), named ? function + dot + 1 : function, &request, reply, reason);
  }
  if (plans_here.load(std::memory_order_relaxed)) {
    *reason = "modules and graphs are compiled by the Python in this process, and it is shutting down or has ended";
    return false;
  }
  GilPause pause;
  return ask_planning_process(function, request, reply, reason) == Connection::Outcome::Answered;
}

// Called by our package, with the path of this Python's interpreter. Has no effect if modules are planned elsewhere already.
extern "C" __attribute__((visibility("default"))) void zexRunPlannerInThisProcess(const char* interpreter) {
  if (interpreter) prefer_interpreter(interpreter);
  if (!has_planning_process()) plans_here.store(true, std::memory_order_relaxed);
}

// Called by our package in a Python whose OpenVINO is going to use the driver.
extern "C" __attribute__((visibility("default"))) void zexRunGraphPlannerBeside() {
  graphs_beside.store(true, std::memory_order_relaxed);
}

GilPause::GilPause() : state_(nullptr) {
  const Python* py = python();
  if (!py || !py->running()) return;
  void* running = py->running_state();
  if (running && running == py->thread_state()) state_ = py->save_thread();
}

GilPause::~GilPause() noexcept(false) {
  if (!state_) return;
  const Python* py = python();
  // The caller expects to hold the GIL. If the interpreter was finalized meanwhile, the thread cannot return.
  while (!py->is_initialized()) pause();
  py->restore_thread(state_);
}

}  // namespace anyzero
