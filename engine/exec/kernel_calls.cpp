#include "kernel_calls.h"

#include <string>
#include <utility>

#include "kernel_stack.h"
#include "output.h"
#include "printf.h"
#include "trap.h"

// A kernel that is called without az_enter_kernel has no other stack.
asm(R"(
  .macro AZ_ON_HOST_STACK name, target
  .text
  .p2align 4
  .globl \name
  .hidden \name
  .type \name, @function
\name:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  movq 8(%rbp), %r8
  movq az_host_stack@gottpoff(%rip), %rax
  movq %fs:(%rax), %rax
  testq %rax, %rax
  cmovneq %rax, %rsp
  callq \target
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size \name, . - \name
  .endm
  AZ_ON_HOST_STACK az_printf, az_printf_on_host_stack
  AZ_ON_HOST_STACK az_fault, az_fault_on_host_stack

  .p2align 4
  .globl az_private_overrun
  .hidden az_private_overrun
  .type az_private_overrun, @function
az_private_overrun:
  .cfi_startproc
  movl $5, %esi
  xorl %edx, %edx
  jmp az_fault
  .cfi_endproc
  .size az_private_overrun, . - az_private_overrun
)");

extern "C" {
__attribute__((visibility("hidden"), used)) void az_printf_on_host_stack(anyzero::Worker*, const char* format,
                                                                         const uint64_t* slots, uint32_t n_slots) {
  using namespace anyzero;
  // Not to be torn from locks and allocations; a fault, from a bad address of a text, happens before any lock is taken.
  const Limit* limit = std::exchange(current_limit, nullptr);
  try {
    keep_output(format_printf(format, slots, n_slots));
  } catch (...) {
    // No memory for the text: it is lost, the kernel goes on.
  }
  current_limit = limit;
}

__attribute__((visibility("hidden"), used)) void az_fault_on_host_stack(anyzero::Worker*, uint32_t kind, uint64_t value, uint64_t,
                                                                        uintptr_t instruction) {
  using namespace anyzero;
  raise({Fault::kRaised + static_cast<int>(kind & 0xFF), static_cast<uintptr_t>(value), instruction});
}
}
