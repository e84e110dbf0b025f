#include "kernel_calls.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "checked_access.h"
#include "code.h"
#include "kernel_memory.h"
#include "kernel_stack.h"
#include "noted_access.h"
#include "output.h"
#include "packet.h"
#include "printf.h"
#include "reach.h"
#include "running.h"
#include "trap.h"

// The number that is written out in the assembler below.
static_assert(static_cast<uint32_t>(anyzero::FaultKind::PrivateOverrun) == 5);

// A kernel that was called without az_enter_kernel runs on this stack already.
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
  movq 8(%rbp), %r9
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
  AZ_ON_HOST_STACK az_resident, az_resident_on_host_stack
  AZ_ON_HOST_STACK az_check_load, az_check_on_host_stack
  AZ_ON_HOST_STACK az_check_store, az_check_on_host_stack
  AZ_ON_HOST_STACK az_bounds_of, az_bounds_of_on_host_stack
  AZ_ON_HOST_STACK az_resident_apart, az_resident_apart_on_host_stack
  AZ_ON_HOST_STACK az_note, az_note_on_host_stack
  AZ_ON_HOST_STACK az_meet, az_meet_on_host_stack
  AZ_ON_HOST_STACK az_group, az_group_on_host_stack
  AZ_ON_HOST_STACK az_barrier, az_barrier_on_host_stack
  AZ_ON_HOST_STACK az_filled, az_filled_on_host_stack

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

namespace anyzero {

namespace {

// Generic pointers may point into the memory of the work-group itself, whose overruns are reported elsewhere.
bool belongs_to_kernel(const Launch& launch, uintptr_t address) {
  const auto args = reinterpret_cast<uintptr_t>(launch.args());
  return address - args < launch.code->facts().args_bytes || launch.code->holds(address) || in_kernel_memory(address);
}

// True if the whole range is in memory that is known to be resident.
bool was_reached(const RunningWorker& worker, uintptr_t begin, uintptr_t end) {
  const ReachedRanges& reached = worker.reached;
  for (uint32_t i = 0; i < reached.count; ++i)
    if (begin >= reached.ranges[i].begin && end <= reached.ranges[i].end && begin < end) return true;
  return false;
}

// The end of the memory around `address` that the kernel may access; `address` itself if it may not.
uintptr_t reach_end(RunningWorker& worker, uintptr_t address) {
  constexpr uintptr_t kNull = 4096;  // an access faults by itself, and is reported as a null pointer
  ReachedRanges& reached = worker.reached;
  for (uint32_t i = 0; i < reached.count; ++i)
    if (reached.ranges[i].contains(address)) return reached.ranges[i].end;
  const Reach* reach = static_cast<RunningLaunch*>(worker.launch)->reach;
  if (!reach || address < kNull || belongs_to_kernel(reach->launch, address)) return UINTPTR_MAX;
  AddressRange range;
  if (!residency_reaches(*reach, address, &range)) return address;
  reached.ranges[reached.next] = range;
  reached.next = (reached.next + 1) % ReachedRanges::kMost;
  if (reached.count < ReachedRanges::kMost) ++reached.count;
  return range.end;
}

// Ends the kernel if it may not access `bytes` at the address of some lane.
template <class Address>
void require_reach(RunningWorker& worker, Address&& address, uint64_t lanes, uint64_t bytes, uintptr_t instruction) {
  if (bytes == 0) return;
  const Limit* limit = std::exchange(current_limit, nullptr);  // no interruption while a lock is held
  for (; lanes; lanes &= lanes - 1) {
    uintptr_t at = address(static_cast<unsigned>(std::countr_zero(lanes)));
    const uintptr_t last = bytes - 1 > UINTPTR_MAX - at ? UINTPTR_MAX - 1 : at + (bytes - 1);
    while (at <= last) {
      const uintptr_t end = reach_end(worker, at);
      if (end == at) raise({Fault::kNotResident, 0, at, instruction, 0});
      at = end;
    }
  }
  current_limit = limit;
}

}  // namespace

}  // namespace anyzero

namespace {

// Compiled code passes on the worker that `run_groups` gave it.
anyzero::RunningWorker& running(anyzero::Worker* worker) { return *static_cast<anyzero::RunningWorker*>(worker); }

}  // namespace

extern "C" {
__attribute__((visibility("hidden"), used)) void az_printf_on_host_stack(anyzero::Worker*, const char* format,
                                                                         const uint64_t* slots, uint32_t n_slots) {
  using namespace anyzero;
  // The watchdog must not interrupt locks and allocations; a fault, by a bad address of a string, happens before any lock is taken.
  const Limit* limit = std::exchange(current_limit, nullptr);
  try {
    keep_output(format_printf(format, slots, n_slots));
  } catch (...) {
    // Without memory the text is lost, and the kernel continues.
  }
  current_limit = limit;
}

// The last argument of each is the return address in the kernel.
__attribute__((visibility("hidden"), used)) void az_resident_on_host_stack(anyzero::Worker* worker, const uintptr_t* addresses,
                                                                           uint64_t lanes, uint64_t bytes, uint64_t,
                                                                           uintptr_t instruction) {
  anyzero::require_reach(running(worker), [&](unsigned lane) { return addresses[lane]; }, lanes, bytes, instruction);
}

__attribute__((visibility("hidden"), used)) void az_resident_apart_on_host_stack(anyzero::Worker* worker, uintptr_t first,
                                                                                 int64_t stride, uint64_t lanes, uint64_t bytes,
                                                                                 uintptr_t instruction) {
  if (lanes == 0) return;
  auto address = [&](unsigned lane) { return first + static_cast<uint64_t>(stride) * lane; };
  const uintptr_t one = address(std::countr_zero(lanes)), other = address(63 - std::countl_zero(lanes));
  if (anyzero::was_reached(running(worker), std::min(one, other), std::max(one, other) + bytes)) return;
  anyzero::require_reach(running(worker), address, lanes, bytes, instruction);
}

__attribute__((visibility("hidden"), used)) void az_check_on_host_stack(anyzero::Worker* worker, const anyzero::CheckSite* site,
                                                                        uint64_t* block, uint64_t lanes, unsigned char* data,
                                                                        uintptr_t instruction) {
  const anyzero::Limit* limit = std::exchange(anyzero::current_limit, nullptr);  // no interruption while a lock is held
  anyzero::check_access(running(worker), *site, block, lanes, data, instruction);
  anyzero::current_limit = limit;
}

__attribute__((visibility("hidden"), used)) void az_bounds_of_on_host_stack(anyzero::Worker* worker, const uintptr_t* addresses,
                                                                            uint64_t count, uint64_t lanes, uint64_t* found) {
  const anyzero::Limit* limit = std::exchange(anyzero::current_limit, nullptr);
  anyzero::look_bounds_up(running(worker), addresses, count, lanes, found);
  anyzero::current_limit = limit;
}

__attribute__((visibility("hidden"), used)) void az_note_on_host_stack(anyzero::Worker* worker, const anyzero::NoteSite* site,
                                                                       uint64_t where, uint64_t lanes, uint64_t item,
                                                                       uintptr_t instruction) {
  const anyzero::Limit* limit = std::exchange(anyzero::current_limit, nullptr);
  anyzero::note_access(running(worker), *site, where, lanes, item, instruction);
  anyzero::current_limit = limit;
}

__attribute__((visibility("hidden"), used)) void az_meet_on_host_stack(anyzero::Worker* worker, const anyzero::NoteSite* site,
                                                                       uint64_t there, uint64_t here, uint64_t item,
                                                                       uintptr_t instruction) {
  const anyzero::Limit* limit = std::exchange(anyzero::current_limit, nullptr);
  anyzero::note_meeting(running(worker), *site, there, here, item, instruction);
  anyzero::current_limit = limit;
}

__attribute__((visibility("hidden"), used)) void az_group_on_host_stack(anyzero::Worker* worker, uint64_t x, uint64_t y,
                                                                        uint64_t z) {
  anyzero::note_group(running(worker), x, y, z);
}

__attribute__((visibility("hidden"), used)) void az_barrier_on_host_stack(anyzero::Worker* worker, uint32_t fences) {
  const anyzero::Limit* limit = std::exchange(anyzero::current_limit, nullptr);
  anyzero::note_barrier(running(worker), fences);
  anyzero::current_limit = limit;
}

__attribute__((visibility("hidden"), used)) void az_filled_on_host_stack(anyzero::Worker* worker, uint64_t offset, uint64_t size) {
  anyzero::note_filled(running(worker), offset, size);
}

__attribute__((visibility("hidden"), used)) void az_fault_on_host_stack(anyzero::Worker*, uint32_t kind, uint64_t value, uint64_t,
                                                                        uint64_t, uintptr_t instruction) {
  using namespace anyzero;
  raise({Fault::kRaised + static_cast<int>(kind & 0xFF), 0, static_cast<uintptr_t>(value), instruction, 0});
}
}
