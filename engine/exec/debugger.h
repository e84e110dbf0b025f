// gdb's JIT interface: registers the symbols of kernels. A debugger resolves breakpoints by file and line in them, also if it
// attaches later.
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

// True if a debugger that knows the interface is attached and lets the process run.
bool is_debugger_attached();

}  // namespace anyzero
