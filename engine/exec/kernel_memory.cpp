#include "kernel_memory.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "../system/settings.h"
#include "kernel_stack.h"

namespace anyzero {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kGuard = 16 * kPage;
constexpr uint64_t kSlack = 4 * kPage;
constexpr uint64_t kAlignment = 128;
constexpr uint64_t kSmallest = 16 * kPage;
static_assert(kSmallest >= kLocalRoom);
constexpr uint64_t kLargest = uint64_t{1} << 40;

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// Pages between guards, with slack at both ends. The memory that is handed out ends where the slack begins.
struct Room {
  unsigned char* end = nullptr;
  uint64_t capacity = 0;

  bool fits(uint64_t bytes) const { return bytes <= capacity; }

  // A masked access whose disabled lanes reach an absent page takes the processor hundreds of cycles: it suppresses the fault by
  // microcode, each time anew, because the page stays absent. So the pages in front of the memory and behind it are written.
  unsigned char* last(uint64_t bytes) const {
    const uint64_t taken = round_up(bytes, kAlignment);
    if (taken < capacity + overrun_slack()) *static_cast<volatile unsigned char*>(end - taken - 1) = 0;
    return end - taken;
  }

  void give_back() {
    if (end) munmap(end - capacity - overrun_slack() - kGuard, mapped(capacity));
    *this = {};
  }
  bool grow(uint64_t bytes) {
    if (bytes > kLargest) return false;
    give_back();
    const uint64_t slack = overrun_slack(), wanted = round_up(std::max(bytes, kSmallest), kPage);
    void* memory = mmap(nullptr, mapped(wanted), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    auto* first = static_cast<unsigned char*>(memory) + kGuard;
    if (mprotect(first, wanted + 2 * slack, PROT_READ | PROT_WRITE) != 0) {
      munmap(memory, mapped(wanted));
      return false;
    }
    end = first + slack + wanted;
    capacity = wanted;
    if (slack) *end = 0;
    return true;
  }
  bool holds(uintptr_t address) const {
    const uintptr_t behind = reinterpret_cast<uintptr_t>(end) + overrun_slack() + kGuard;
    return end && address - (behind - mapped(capacity)) < mapped(capacity);
  }
  bool guards(uintptr_t address) const {
    if (!end) return false;
    const uintptr_t behind = reinterpret_cast<uintptr_t>(end) + overrun_slack();
    return address - behind < kGuard || address - (behind + kGuard - mapped(capacity)) < kGuard;
  }

 private:
  static uint64_t mapped(uint64_t capacity) { return capacity + 2 * (overrun_slack() + kGuard); }
};

struct Rooms {
  Room local, scratch;
  KernelStack stack;
};

// A library loaded by dlopen has little static thread-local storage, so only the address is kept there.
thread_local Rooms* rooms __attribute__((tls_model("initial-exec"))) = nullptr;

void forget(void* memory) {
  rooms = nullptr;
  auto* mine = static_cast<Rooms*>(memory);
  mine->local.give_back();
  mine->scratch.give_back();
  mine->stack.give_back();
  std::free(mine);
}

bool furnish() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, forget);
    return made;
  }();
  void* memory = std::calloc(1, sizeof(Rooms));
  if (!memory) return false;
  auto* made = static_cast<Rooms*>(memory);
  if (!made->stack.make()) {
    std::free(made);
    return false;
  }
  rooms = made;
  pthread_setspecific(key, memory);
  return true;
}

}  // namespace

uint64_t overrun_slack() { return settings.strict ? 0 : kSlack; }

void* provide_memory(uint64_t local_bytes, uint64_t scratch_bytes, Worker* worker) {
  worker->local_bytes = local_bytes;
  worker->scratch_bytes = scratch_bytes;
  worker->local = worker->scratch = nullptr;
  if (!rooms && !furnish()) return nullptr;
  if (local_bytes) {
    if (!rooms->local.fits(local_bytes) && !rooms->local.grow(local_bytes)) return nullptr;
    worker->local = rooms->local.last(local_bytes);
  }
  if (scratch_bytes) {
    if (!rooms->scratch.fits(scratch_bytes) && !rooms->scratch.grow(scratch_bytes)) return nullptr;
    worker->scratch = rooms->scratch.last(scratch_bytes);
  }
  return rooms->stack.top;
}

bool in_kernel_memory(uintptr_t address) {
  return rooms && (rooms->local.holds(address) || rooms->scratch.holds(address) || rooms->stack.holds(address));
}

int memory_overrun(uintptr_t address, uintptr_t stack_pointer) {
  if (!rooms) return 0;
  if (int kind = rooms->stack.overrun(address, stack_pointer)) return kind;
  if (rooms->local.guards(address)) return Fault::kLocalOverrun;
  return rooms->scratch.guards(address) ? Fault::kPrivateOverrun : 0;
}

}  // namespace anyzero
