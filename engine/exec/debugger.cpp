#include "debugger.h"

#include <cstdint>
#include <mutex>

#include "../abi/gen/ze_api.h"
#include "../system/mutex.h"

// The names and layouts are gdb's: it looks for them in every library and has a breakpoint in the function.
extern "C" {

struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};

struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};

ZE_APIEXPORT constinit jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};

[[gnu::noinline]] ZE_APIEXPORT void __jit_debug_register_code() { asm volatile("" ::: "memory"); }

}  // extern "C"

namespace anyzero {

namespace {

enum Action : uint32_t { kRegister = 1, kUnregister = 2 };

Mutex& changing() {
  static auto* const mutex = new Mutex;  // leaked: kernels are destroyed from exit handlers
  return *mutex;
}

void tell(Action action, jit_code_entry* entry) {
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_descriptor.relevant_entry = entry;
  __jit_debug_register_code();
}

}  // namespace

struct DebuggerEntry::Node : jit_code_entry {
  std::string symbols;
};

DebuggerEntry::DebuggerEntry(std::string symbols) : node_(new Node) {
  node_->symbols = std::move(symbols);
  node_->symfile_addr = node_->symbols.data();
  node_->symfile_size = node_->symbols.size();
  std::lock_guard lock(changing());
  node_->prev_entry = nullptr;
  node_->next_entry = __jit_debug_descriptor.first_entry;
  if (node_->next_entry) node_->next_entry->prev_entry = node_.get();
  __jit_debug_descriptor.first_entry = node_.get();
  tell(kRegister, node_.get());
}

DebuggerEntry::~DebuggerEntry() {
  std::lock_guard lock(changing());
  (node_->prev_entry ? node_->prev_entry->next_entry : __jit_debug_descriptor.first_entry) = node_->next_entry;
  if (node_->next_entry) node_->next_entry->prev_entry = node_->prev_entry;
  tell(kUnregister, node_.get());
}

bool is_debugger_attached() {
  // The debugger's breakpoint is present while the process runs.
  constexpr unsigned char kBreakpoint = 0xCC;
  const auto* code = reinterpret_cast<const volatile unsigned char*>(&__jit_debug_register_code);
  return *code == kBreakpoint;
}

}  // namespace anyzero
