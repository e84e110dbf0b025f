// Kernels for debuggers: gdb's interface for code that is compiled at run time. A debugger finds breakpoints by file and line in
// what is registered here, also when it attaches later.
#pragma once

#include <memory>
#include <string>

namespace anyzero {

// Symbols of one piece of code, known to debuggers as long as this exists.
class DebuggerEntry {
 public:
  // An ELF file with the addresses at which the code lies.
  explicit DebuggerEntry(std::string symbols);
  ~DebuggerEntry();
  DebuggerEntry(const DebuggerEntry&) = delete;
  DebuggerEntry& operator=(const DebuggerEntry&) = delete;

 private:
  struct Node;
  std::unique_ptr<Node> node_;
};

// Whether a debugger that knows the interface is attached and lets the process run.
bool is_debugger_attached();

}  // namespace anyzero
