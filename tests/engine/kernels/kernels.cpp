// Kernels as the compiler would make them, written by hand: each runs the groups first … last - 1 of a launch. Compiled without
// sanitizers into an object that the tests load.
#include <stddef.h>
#include <stdint.h>

#include "layouts/gen/kernel.h"

using anyzero::FaultKind, anyzero::Grid, anyzero::Worker;

extern "C" {
void az_printf(Worker*, const char* format, const uint64_t* slots, uint32_t n_slots);
[[noreturn]] void az_fault(Worker*, uint32_t kind, uint64_t value);
extern unsigned char az_globals[];
void* memcpy(void*, const void*, size_t);
}

#define KERNEL(name)                                                                                                  \
  extern "C" void name([[maybe_unused]] const unsigned char* args, [[maybe_unused]] const Grid* grid, uint64_t first, \
                       uint64_t last, [[maybe_unused]] Worker* worker)

namespace {

template <class T>
T arg(const unsigned char* args, size_t offset) {
  T value;
  __builtin_memcpy(&value, args + offset, sizeof value);
  return value;
}

// Read-only data, data and zeroes, pointers between them: every section has something to relocate.
const uint32_t kTable[] = {3, 1, 4, 1, 5, 9, 2, 6};
const uint32_t* const kPointers[] = {kTable + 4, kTable + 2};
uint32_t counter = 40;
uint32_t zeroes[1000];

uint32_t twice(uint32_t x) { return 2 * x; }
uint32_t square(uint32_t x) { return x * x; }
uint32_t (*volatile functions[])(uint32_t) = {twice, square};

}  // namespace

KERNEL(empty) { (void)first, (void)last; }

// to[i] = global number of the work-item, in every dimension.
KERNEL(number) {
  auto* to = arg<uint64_t*>(args, 0);
  for (uint64_t group = first; group < last; ++group) {
    uint64_t at[3] = {group % grid->group_count[0], group / grid->group_count[0] % grid->group_count[1],
                      group / grid->group_count[0] / grid->group_count[1]};
    for (uint64_t z = 0; z < grid->group_size[2]; ++z)
      for (uint64_t y = 0; y < grid->group_size[1]; ++y)
        for (uint64_t x = 0; x < grid->group_size[0]; ++x) {
          uint64_t gx = at[0] * grid->group_size[0] + x, gy = at[1] * grid->group_size[1] + y, gz = at[2] * grid->group_size[2] + z;
          uint64_t index = gx + grid->global_size[0] * (gy + grid->global_size[1] * gz);
          to[index] = gx + grid->global_offset[0] + 1000 * (gy + grid->global_offset[1]) + 1000000 * (gz + grid->global_offset[2]);
        }
  }
}

// Adds to a counter in memory, once for each group, and leaves the grid's dimensions behind it.
KERNEL(count) {
  auto* to = arg<uint64_t*>(args, 0);
  __atomic_fetch_add(to, last - first, __ATOMIC_RELAXED);
  to[1] = grid->dimensions;
}

// Everything the loader has to do at once; to[0 …] says what came out.
KERNEL(sections) {
  auto* to = arg<uint32_t*>(args, 0);
  auto which = arg<uint32_t>(args, 8);
  (void)first, (void)last;
  to[0] = kPointers[which & 1][1];
  to[1] = ++counter;
  to[2] = zeroes[which % 1000]++;
  to[3] = functions[which & 1](7);
  switch (which) {
    case 0:
      to[4] = 10;
      break;
    case 1:
      to[4] = 27;
      break;
    case 2:
      to[4] = 31;
      break;
    case 3:
      to[4] = 44;
      break;
    case 4:
      to[4] = 59;
      break;
    case 5:
      to[4] = 63;
      break;
    default:
      to[4] = 99;
  }
  uint32_t global;
  memcpy(&global, az_globals + which % 8, sizeof global);
  to[5] = global;
  unsigned __int128 wide = (static_cast<unsigned __int128>(which + 1) << 70) / (which + 3);
  to[6] = static_cast<uint32_t>(wide >> 64);
}

// Each group fills its local memory and checks that nobody else writes there; to[0] counts what is wrong.
KERNEL(local) {
  auto* to = arg<uint64_t*>(args, 0);
  const uint64_t one = arg<uint64_t>(args, 8), two = arg<uint64_t>(args, 16);
  for (uint64_t group = first; group < last; ++group) {
    bool wrong = reinterpret_cast<uintptr_t>(worker->local) % 128 || reinterpret_cast<uintptr_t>(worker->scratch) % 128;
    wrong = wrong || one % 128 || two % 128 || one == two || worker->local_bytes < two;
    for (uint64_t i = 0; i < worker->local_bytes; ++i) worker->local[i] = static_cast<unsigned char>(group + i);
    for (uint64_t i = 0; i < worker->scratch_bytes; ++i) worker->scratch[i] = static_cast<unsigned char>(group - i);
    for (uint64_t i = 0; i < worker->local_bytes; ++i) wrong = wrong || worker->local[i] != static_cast<unsigned char>(group + i);
    if (wrong) __atomic_fetch_add(to, 1, __ATOMIC_RELAXED);
  }
}

// One byte so far behind the end of local memory.
KERNEL(local_overrun) {
  (void)first, (void)last;
  const uint64_t end = (worker->local_bytes + 127) / 128 * 128;
  const_cast<volatile unsigned char*>(worker->local)[end + arg<uint64_t>(args, 0)] = 1;
}

namespace {
[[gnu::noinline]] uint64_t fill_up(uint64_t words, uint64_t value) {
  uint64_t room[8];
  volatile uint64_t* at = room;
  asm volatile("" : "+r"(at));
  for (uint64_t i = 0; i < words; ++i) at[i] = value;
  return at[3];
}
}  // namespace

// So many words into an array of eight.
KERNEL(private_overrun) {
  for (uint64_t group = first; group < last; ++group) fill_up(arg<uint64_t>(args, 0), arg<uint64_t>(args, 8));
}

// Returns with none of the registers that a function has to preserve.
KERNEL(forget_registers) {
  (void)first, (void)last;
  asm volatile("movq $-1, %rbx; movq $-1, %rbp; movq $-1, %r12; movq $-1, %r13; movq $-1, %r14; movq $-1, %r15; ret");
}

KERNEL(load) {
  (void)first, (void)last;
  auto* from = arg<volatile uint32_t*>(args, 0);
  (void)*from;
}

KERNEL(divide) {
  volatile int zero = 0;
  volatile int result = static_cast<int>(last - first + 12345) / zero;
  (void)result;
}

KERNEL(illegal) {
  (void)first, (void)last;
  __builtin_trap();
}

KERNEL(fault) {
  (void)first, (void)last;
  az_fault(worker, arg<uint32_t>(args, 0), 0x1234);
}

namespace {
[[gnu::noinline]] uint64_t deeper(uint64_t n) {
  volatile unsigned char room[2048];
  room[n % sizeof room] = static_cast<unsigned char>(n);
  return n == UINT64_MAX ? 0 : deeper(n + 1) + room[n % sizeof room];
}
}  // namespace

KERNEL(overflow) {
  volatile uint64_t result = deeper(last - first);
  (void)result;
}

KERNEL(spin) {
  (void)first, (void)last;
  for (;;) asm volatile("pause");
}

// As long as a word in memory is not 0; groups before the one given do not look.
KERNEL(spin_while) {
  (void)first;
  const auto* word = arg<uint32_t*>(args, 0);
  const uint64_t from = arg<uint64_t>(args, 8);
  if (last > from)
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
}

// So many turns, or until a word in memory is not 0.
KERNEL(turns) {
  (void)first, (void)last;
  const auto* word = arg<uint32_t*>(args, 0);
  const uint64_t turns = arg<uint64_t>(args, 8);
  for (uint64_t i = 0; i < turns && !__atomic_load_n(word, __ATOMIC_ACQUIRE); ++i) __builtin_ia32_pause();
}

// Every group waits until all have come.
KERNEL(meet) {
  auto* here = arg<uint32_t*>(args, 0);
  const uint64_t faulty = arg<uint64_t>(args, 8);
  for (uint64_t group = first; group < last; ++group) {
    if (group == faulty) az_fault(worker, static_cast<uint32_t>(FaultKind::Unreachable), 0);
    __atomic_fetch_add(here, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(here, __ATOMIC_ACQUIRE) < grid->group_count[0]) __builtin_ia32_pause();
  }
}

// Waits until so many groups, of whichever launches, have come to the same place.
KERNEL(rendezvous) {
  auto* here = arg<uint64_t*>(args, 0);
  const uint64_t wanted = arg<uint64_t>(args, 8);
  __atomic_fetch_add(here, last - first, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(here, __ATOMIC_ACQUIRE) < wanted) __builtin_ia32_pause();
}

KERNEL(print) {
  for (uint64_t group = first; group < last; ++group) {
    uint64_t slots[1] = {group};
    az_printf(worker, "group %d\n", slots, 1);
  }
}

// Prints until there is no stack left.
namespace {
[[gnu::noinline]] uint64_t print_deeper(uint64_t n, Worker* worker) {
  volatile unsigned char room[4096];
  room[n % sizeof room] = static_cast<unsigned char>(n);
  az_printf(worker, n % 64 ? "" : "%d ", &n, 1);
  return n == UINT64_MAX ? 0 : print_deeper(n + 1, worker) + room[n % sizeof room];
}
}  // namespace

KERNEL(print_overflow) {
  volatile uint64_t result = print_deeper(last - first, worker);
  (void)result;
}

// The address of its argument block, to see how it is aligned.
KERNEL(where) {
  (void)first, (void)last;
  *arg<uint64_t*>(args, 0) = reinterpret_cast<uint64_t>(args);
}
