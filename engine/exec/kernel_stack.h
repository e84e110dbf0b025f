// The stack that kernels run on. A thread's own stack holds the engine's frames and the trap's jump buffer. A kernel that overruns
// an array in its private memory must not overwrite them: it hits a guard page first, and no return address of the engine is on its
// stack.
#pragma once

#include "offered.h"
#include "trap.h"

extern "C" {
// Calls `entry` with `stack_top` as the stack. Returns 0 if it has returned, 1 if leave_kernel ended it. Callee-saved registers are
// restored from the caller's stack in both cases: the kernel's copies may be overwritten.
uint64_t az_enter_kernel(const void* args, const anyzero::Grid* grid, uint64_t first, uint64_t last, anyzero::Worker* worker,
                         anyzero::Entry entry, void* stack_top);
[[noreturn]] void az_leave_kernel();
}

// The thread's own stack pointer while it runs a kernel, else nullptr.
extern "C" constinit __attribute__((visibility("hidden"), tls_model("initial-exec"))) thread_local void* az_host_stack;

namespace anyzero {

// Threading: each thread has its own, for one kernel at a time.
struct KernelStack {
  // The default size of a thread's stack. Compiled code keeps up to 16 KiB of private memory in a frame and the rest in scratch.
  static constexpr uint64_t kBytes = uint64_t{8} << 20;
  // Frames that are not probed page by page must not step over it.
  static constexpr uint64_t kGuard = uint64_t{1} << 20;

  unsigned char* top = nullptr;

  // False if the system has no memory left. A stack that is given back serves the next thread, or is unmapped if enough are free.
  bool make();
  void give_back();

  // True for an address in it or in its guards.
  bool holds(uintptr_t address) const;

  // The kind of fault of an access right beside this stack, else 0. Signal-safe.
  int overrun(uintptr_t address, uintptr_t stack_pointer) const;
};

inline bool in_kernel() { return az_host_stack != nullptr; }

// After az_leave_kernel: raises the fault in the trap, from the thread's own stack, with the site of these groups for the report.
[[noreturn]] void abandon_kernel(void* stack_top, uint64_t first, uint64_t last, const Worker& worker);

// Runs groups on a kernel stack, in a trap, where a fault inside is raised.
inline void run_kernel(Entry entry, const void* args, const Grid* grid, uint64_t first, uint64_t last, Worker* worker,
                       void* stack_top) {
  if (az_enter_kernel(args, grid, first, last, worker, entry, stack_top)) [[unlikely]]
    abandon_kernel(stack_top, first, last, *worker);
}

}  // namespace anyzero
