#include "kernel_stack.h"

#include <sys/mman.h>

#include <atomic>

#include "fault_site.h"
#include "kernel_memory.h"
#include "running.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

// The saved stack pointer is in thread-local memory and everything else on the thread's own stack, so a kernel cannot overwrite
// anything that is needed to return. Debuggers unwind both stacks by the frame pointer.
//
// A watchdog's signal may arrive at any instruction here: az_host_stack is set before the stack pointer changes and reset by the
// first instruction that pops something, so az_leave_kernel finds the frame complete whenever az_host_stack is set.
//
// Sanitizers are not told: only image functions run instrumented on a kernel's stack, and they call nothing that looks at the
// bounds of a stack. The thread sanitizer's shadow call stack is restored by the siglongjmp that follows az_leave_kernel. Shadow
// stacks of the processor (CET) would have to be unwound in az_leave_kernel; the loader's objects do not ask for them.
asm(R"(
  .text
  .p2align 4
  .globl az_enter_kernel
  .hidden az_enter_kernel
  .type az_enter_kernel, @function
az_enter_kernel:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  .cfi_offset %rbx, -24
  .cfi_offset %r12, -32
  .cfi_offset %r13, -40
  .cfi_offset %r14, -48
  .cfi_offset %r15, -56
  movq az_host_stack@gottpoff(%rip), %rax
  pushq %fs:(%rax)
  movq %rsp, %fs:(%rax)
  movq 16(%rbp), %rsp
  callq *%r9
  xorl %eax, %eax
.Laz_back:
  movq az_host_stack@gottpoff(%rip), %rcx
  movq %fs:(%rcx), %rsp
  popq %fs:(%rcx)
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size az_enter_kernel, . - az_enter_kernel

  .p2align 4
  .globl az_leave_kernel
  .hidden az_leave_kernel
  .type az_leave_kernel, @function
az_leave_kernel:
  .cfi_startproc
  .cfi_undefined %rip
  movl $1, %eax
  jmp .Laz_back
  .cfi_endproc
  .size az_leave_kernel, . - az_leave_kernel
)");

thread_local void* az_host_stack = nullptr;

namespace anyzero {

namespace {

// Free stacks of threads that have ended: threads of a cooperative launch live for one launch, and mapping a stack costs as much as
// starting a thread.
std::atomic<unsigned char*> spares[16];

unsigned char* take_spare() {
  for (auto& spare : spares)
    if (spare.load(std::memory_order_relaxed))
      if (unsigned char* top = spare.exchange(nullptr, std::memory_order_acquire)) return top;
  return nullptr;
}

bool keep_spare(unsigned char* top) {
  for (auto& spare : spares)
    if (unsigned char* none = nullptr; spare.compare_exchange_strong(none, top, std::memory_order_release)) return true;
  return false;
}

// Abandoned frames have left poisoned shadow memory of the address sanitizer behind.
void unmark([[maybe_unused]] void* stack_top) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(static_cast<unsigned char*>(stack_top) - KernelStack::kBytes, KernelStack::kBytes);
#endif
}

}  // namespace

void abandon_kernel(void* stack_top, uint64_t first, uint64_t last, const Worker& worker) {
  Fault& fault = current_trap->fault;
  const auto* running = static_cast<const RunningLaunch*>(worker.launch);
  if (running && fault.signal != Fault::kGivenUp) fault.site = keep_site(*running, first, last, fault, stack_top);
  unmark(stack_top);
  raise_again();
}

bool KernelStack::make() {
  if ((top = take_spare())) return true;
  const uint64_t slack = overrun_slack(), whole = kGuard + kBytes + slack + kGuard;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
  void* memory = mmap(nullptr, whole, PROT_NONE, kFlags, -1, 0);
  if (memory == MAP_FAILED) return false;
  unsigned char* bottom = static_cast<unsigned char*>(memory) + kGuard;
  // Reading a little past an array does no harm, and some clients do it. Writing there would overwrite the return address first.
  if (mprotect(bottom, kBytes, PROT_READ | PROT_WRITE) != 0 || (slack && mprotect(bottom + kBytes, slack, PROT_READ) != 0)) {
    munmap(memory, whole);
    return false;
  }
  // Most kernels need a page or two; a huge page would have to be cleared first.
  madvise(bottom, kBytes, MADV_NOHUGEPAGE);
  top = bottom + kBytes;
  return true;
}

void KernelStack::give_back() {
  if (!top) return;
  unmark(top);
  if (!keep_spare(top)) munmap(top - kBytes - kGuard, kGuard + kBytes + overrun_slack() + kGuard);
  top = nullptr;
}

bool KernelStack::holds(uintptr_t address) const {
  const uint64_t whole = kGuard + kBytes + overrun_slack() + kGuard;
  return address - (reinterpret_cast<uintptr_t>(top) - kBytes - kGuard) < whole;
}

int KernelStack::overrun(uintptr_t address, uintptr_t stack_pointer) const {
  constexpr uint64_t kBelow = uint64_t{64} << 10;
  const auto end = reinterpret_cast<uintptr_t>(top), bottom = end - kBytes;
  if (address - end < overrun_slack() + kGuard) return Fault::kPrivateOverrun;
  if (address - (bottom - kGuard) >= kGuard) return 0;
  // An overflowing stack faults near its stack pointer.
  return address - (stack_pointer - kBelow) < kBelow + kGuard ? Fault::kStackOverflow : Fault::kPrivateOverrun;
}

}  // namespace anyzero
