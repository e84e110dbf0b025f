#include "kernel_memory.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "offered.h"

namespace anyzero {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kAlignment = 128;
constexpr uint64_t kLargest = uint64_t{1} << 40;

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// Pages between two that nobody may touch. What is handed out ends where the last of them ends, so that running over it is a fault.
struct Room {
  unsigned char* end = nullptr;
  uint64_t capacity = 0;

  bool fits(uint64_t bytes) const { return bytes <= capacity; }
  unsigned char* last(uint64_t bytes) const { return end - round_up(bytes, kAlignment); }

  void give_back() {
    if (end) munmap(end - capacity - kPage, capacity + 2 * kPage);
    *this = {};
  }
  bool grow(uint64_t bytes) {
    if (bytes > kLargest) return false;
    give_back();
    const uint64_t wanted = round_up(std::max(bytes, 16 * kPage), kPage);
    void* memory = mmap(nullptr, wanted + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    auto* first = static_cast<unsigned char*>(memory) + kPage;
    if (mprotect(first, wanted, PROT_READ | PROT_WRITE) != 0) {
      munmap(memory, wanted + 2 * kPage);
      return false;
    }
    end = first + wanted;
    capacity = wanted;
    return true;
  }
};

struct Rooms {
  Room local, scratch;
};

// A library that is loaded late gets few bytes of every thread's static storage, so only the address lies there.
thread_local Rooms* rooms __attribute__((tls_model("initial-exec"))) = nullptr;

void forget(void* memory) {
  rooms = nullptr;
  auto* mine = static_cast<Rooms*>(memory);
  mine->local.give_back();
  mine->scratch.give_back();
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
  rooms = static_cast<Rooms*>(memory);
  pthread_setspecific(key, memory);
  return true;
}

}  // namespace

bool provide_memory(uint64_t local_bytes, uint64_t scratch_bytes, Worker* worker) {
  worker->local_bytes = local_bytes;
  worker->scratch_bytes = scratch_bytes;
  worker->local = worker->scratch = nullptr;
  if (local_bytes == 0 && scratch_bytes == 0) return true;
  if (!rooms && !furnish()) return false;
  if (!rooms->local.fits(local_bytes) && !rooms->local.grow(local_bytes)) return false;
  if (!rooms->scratch.fits(scratch_bytes) && !rooms->scratch.grow(scratch_bytes)) return false;
  if (local_bytes) worker->local = rooms->local.last(local_bytes);
  if (scratch_bytes) worker->scratch = rooms->scratch.last(scratch_bytes);
  return true;
}

}  // namespace anyzero
