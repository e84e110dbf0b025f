#include "fault_site.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include "../system/mutex.h"
#include "code.h"
#include "running.h"
#include "trap.h"

namespace anyzero {

namespace {

struct Kept {
  uint32_t number;
  FaultSite site;
};

struct Sites {
  uint32_t next = 1;
  Kept kept[64];
};

Guarded<Sites>& sites() {
  // Never destroyed: kernels may fault while the program exits. Not on the heap, where the fault may have happened.
  alignas(Guarded<Sites>) static unsigned char memory[sizeof(Guarded<Sites>)];
  static auto* sites = new (memory) Guarded<Sites>{};
  return *sites;
}

// True if a call instruction ends right before `address`, which is in the code.
bool follows_call(uintptr_t address) {
  constexpr unsigned char kCall = 0xE8, kIndirect = 0xFF, kOperand = 0x38, kCallOperand = 0x10;
  unsigned char before[7];
  std::memcpy(before, reinterpret_cast<const void*>(address - sizeof before), sizeof before);
  if (before[2] == kCall) return true;
  // Indirect calls of 2 bytes (a register), 3 (an extended register, or near memory) and 6 (memory with a long displacement).
  for (unsigned at : {5u, 4u, 1u})
    if (before[at] == kIndirect && (before[at + 1] & kOperand) == kCallOperand) return true;
  return false;
}

// The kernel's call that led to a fault outside of its code: the innermost return address on its stack.
uintptr_t calling(const Code& code, uintptr_t stack_pointer, uintptr_t stack_top) {
  constexpr uintptr_t kMost = 64 << 10;
  constexpr uintptr_t kFirst = 7;  // bytes that follows_call reads
  if (stack_pointer >= stack_top || stack_top - stack_pointer > (uintptr_t{8} << 20)) return 0;
  const uintptr_t end = std::min(stack_top, stack_pointer + kMost) & ~uintptr_t{7};
  for (uintptr_t at = (stack_pointer + 7) & ~uintptr_t{7}; at < end; at += 8) {
    uintptr_t word;
    std::memcpy(&word, reinterpret_cast<const void*>(at), sizeof word);
    size_t offset;
    if (code.offset_of(word, &offset) && offset >= kFirst && follows_call(word)) return word - 1;
  }
  return 0;
}

}  // namespace

uint32_t keep_site(const RunningLaunch& running, uint64_t first, uint64_t last, const Fault& fault, const void* stack_top) {
  Kept kept{0, {running.grid, running.code && running.code->flat(), first, last, 0}};
  size_t offset;
  if (running.code && fault.instruction && running.code->offset_of(fault.instruction - fault.after_call(), &offset)) {
    kept.site.instruction = fault.instruction - fault.after_call();
  } else if (running.code && fault.stack && fault.signal != Fault::kStackOverflow) {
    kept.site.instruction = calling(*running.code, fault.stack, reinterpret_cast<uintptr_t>(stack_top));
  }
  auto open = sites().open();
  kept.number = open->next++;
  if (open->next == 0) open->next = 1;
  open->kept[kept.number % std::size(open->kept)] = kept;
  return kept.number;
}

bool find_site(uint32_t number, FaultSite* site) {
  if (number == 0) return false;
  auto open = sites().open();
  const Kept& kept = open->kept[number % std::size(open->kept)];
  *site = kept.site;
  return kept.number == number;
}

}  // namespace anyzero
