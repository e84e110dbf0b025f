// Lines of Python for recordings: the innermost frame outside of this package, and of what of the standard library it calls itself
// by.
//
// Functions that this library binds note their line before they release the GIL. Calls through ctypes have released it when the
// driver asks, and acquire it again briefly. Other callers may hold locks, and waiting for the GIL could deadlock: they get no
// line.
#include "lines.h"

#include <dlfcn.h>
#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "../engine/trace/source_lines.h"
#include "../engine/trace/ticks.h"
#include "links.h"

namespace {

using Object = void*;

// Functions of the stable ABI, resolved in the running process.
struct Python {
  Object (*frame)();
  Object (*back)(Object frame);
  Object (*code)(Object frame);
  int (*line)(Object frame);
  int (*instruction)(Object frame);
  Object (*attribute)(Object, const char* name);
  const char* (*text)(Object, ssize_t* size);
  void (*keep)(Object);
  void (*drop)(Object);
  void (*clear_error)();
  int (*ensure)();
  void (*release)(int);
  Object (*own_state)();
};
Python py;

// Functions of the driver.
uint64_t (*number_of)(const char* file, const char* function, uint32_t line);
void (*note)(uint64_t line, uint64_t tick);

std::vector<std::string> passed_over;  // beginnings of the names of files whose frames are none of the program's

// A code object. The entry holds a reference, so its address is not reused.
struct Known {
  Object code;
  uint64_t place;  // of its line 0; 0 for code that is passed over
};
constexpr size_t kKnown = 256;
Known known[kKnown];

// The line of an instruction of a code object in `known`. Python searches its table from the beginning of the function.
struct KnownLine {
  Object code;
  int instruction, line;
};
KnownLine known_lines[kKnown];

template <class T>
bool find(T& place, const char* name) {
  place = reinterpret_cast<T>(dlsym(RTLD_DEFAULT, name));
  return place != nullptr;
}

bool find_all() {
  static const bool found = find(py.frame, "PyEval_GetFrame") && find(py.back, "PyFrame_GetBack") &&
                            find(py.code, "PyFrame_GetCode") && find(py.line, "PyFrame_GetLineNumber") &&
                            find(py.instruction, "PyFrame_GetLasti") && find(py.attribute, "PyObject_GetAttrString") &&
                            find(py.text, "PyUnicode_AsUTF8AndSize") && find(py.keep, "Py_IncRef") && find(py.drop, "Py_DecRef") &&
                            find(py.clear_error, "PyErr_Clear") && find(py.ensure, "PyGILState_Ensure") &&
                            find(py.release, "PyGILState_Release") && find(py.own_state, "PyGILState_GetThisThreadState");
  return found;
}

std::string attribute_of(Object code, const char* name) {
  Object value = py.attribute(code, name);
  const char* text = value ? py.text(value, nullptr) : nullptr;
  std::string found = text ? text : "?";
  if (!text) py.clear_error();
  if (value) py.drop(value);
  return found;
}

// The address of the code may be reused from now on.
void forget(Known& entry) {
  if (!entry.code) return;
  for (KnownLine& line : known_lines)
    if (line.code == entry.code) line = {};
  py.drop(entry.code);
  entry = {};
}

const Known& look_up(Object code) {
  Known& entry = known[reinterpret_cast<uintptr_t>(code) / 32 % kKnown];
  if (entry.code == code) return entry;
  const std::string file = attribute_of(code, "co_filename");
  const auto begins = [&](const std::string& with) { return file.compare(0, with.size(), with) == 0; };
  const bool own = std::any_of(passed_over.begin(), passed_over.end(), begins);
  const uint64_t place = own ? 0 : number_of(file.c_str(), attribute_of(code, "co_qualname").c_str(), 0);
  forget(entry);
  py.keep(code);
  return entry = {code, place};
}

uint32_t line_of(Object frame, Object code) {
  const int instruction = py.instruction(frame);
  const size_t place = reinterpret_cast<uintptr_t>(code) / 32 * 31 + static_cast<size_t>(instruction) / 2;
  KnownLine& entry = known_lines[place % kKnown];
  if (entry.code != code || entry.instruction != instruction) entry = {code, instruction, py.line(frame)};
  return static_cast<uint32_t>(entry.line);
}

// Called with the GIL.
uint64_t line_now() {
  Object frame = py.frame();
  if (frame) py.keep(frame);
  uint64_t found = 0;
  while (frame && !found) {
    Object code = py.code(frame);
    found = look_up(code).place;
    if (found) found += line_of(frame, code);
    py.drop(code);
    if (found) {
      py.drop(frame);
    } else {
      Object outer = py.back(frame);
      py.drop(frame);
      frame = outer;
    }
  }
  return found;
}

bool is_of_ctypes(const void* caller) {
  Dl_info object{};
  if (!dladdr(caller, &object) || !object.dli_fname) return false;
  const char* slash = std::strrchr(object.dli_fname, '/');
  const char* name = slash ? slash + 1 : object.dli_fname;
  return std::strncmp(name, "libffi", 6) == 0 || std::strncmp(name, "_ctypes", 7) == 0;
}

bool is_ctypes(const void* caller) {
  // A cache: calls come from few places. An entry is an address and, in the highest bit, which no address has, the answer.
  constexpr uintptr_t kYes = uintptr_t{1} << 63;
  static std::atomic<uintptr_t> answers[256];
  const auto address = reinterpret_cast<uintptr_t>(caller);
  if (!address) return false;
  std::atomic<uintptr_t>& answer = answers[address % std::size(answers)];
  const uintptr_t found = answer.load(std::memory_order_relaxed);
  if ((found & ~kYes) == address) return found & kYes;
  const bool yes = is_of_ctypes(caller);
  answer.store(address | (yes ? kYes : 0), std::memory_order_relaxed);
  return yes;
}

uint64_t line_of_call(const void* caller) {
  if (!lines_wanted.load(std::memory_order_relaxed) || !is_ctypes(caller) || !py.own_state()) return 0;
  const int state = py.ensure();
  const uint64_t found = line_now();
  py.release(state);
  return found;
}

}  // namespace

std::atomic<bool> lines_wanted{false};

void note_line() {
  // Finding a line takes some hundred nanoseconds, and may take at most 1 / kShare of a thread's time: in bursts of short calls,
  // not every call has its line.
  constexpr uint64_t kShare = 200;
  constexpr uint64_t kMost = 1000;  // ticks: the first of a line takes longer, and so does one that loses the processor
  constinit static thread_local uint64_t next __attribute__((tls_model("initial-exec"))) = 0;
  const uint64_t begin = anyzero::ticks();
  if (begin < next) return note(0, begin);
  const uint64_t line = line_now();
  const uint64_t end = anyzero::ticks();
  note(line, end);
  next = end + std::min(end - begin, kMost) * kShare;
}

// Starts to report the lines of calls to the current recording; false if this Python lacks a function that is needed. `over` has
// the beginnings of the names of files to pass over, one a line. Called with the GIL, as its counterpart is.
EXPORTED bool anyzero_lines_start(void* driver, const char* over) {
  void (*ask_by)(uint64_t (*)(const void*)) = nullptr;
  ask_by = reinterpret_cast<decltype(ask_by)>(dlsym(driver, "zexTraceLinesBy"));
  number_of = reinterpret_cast<decltype(number_of)>(dlsym(driver, "zexTraceLine"));
  note = reinterpret_cast<decltype(note)>(dlsym(driver, "zexTraceNoteLine"));
  if (!ask_by || !number_of || !note || !find_all()) return false;
  passed_over.clear();
  for (std::string_view rest = over; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    passed_over.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  // Places belong to one recording.
  for (Known& entry : known) forget(entry);
  lines_wanted.store(true);
  ask_by(line_of_call);
  return true;
}

EXPORTED void anyzero_lines_stop(void* driver) {
  lines_wanted.store(false);
  if (void* found = dlsym(driver, "zexTraceLinesBy")) reinterpret_cast<void (*)(void*)>(found)(nullptr);
}
