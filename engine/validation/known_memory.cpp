#include "known_memory.h"

#include <pthread.h>

namespace anyzero {

namespace {

// A library that is loaded late gets few bytes of every thread's static storage, so only the address lies there.
void make_recent_memories() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, [](void* memories) {
      recent_memories = nullptr;
      delete[] static_cast<KnownMemory*>(memories);
    });
    return made;
  }();
  recent_memories = new KnownMemory[kRecentMemories + 1];
  pthread_setspecific(key, recent_memories);
}

}  // namespace

const KnownMemory& look_memory_up(uintptr_t address) {
  if (!recent_memories) make_recent_memories();
  KnownMemory found;
  // Before the lookup: a change meanwhile makes the entry old.
  found.version = allocation_changes.load(std::memory_order_relaxed);
  const bool known = with_allocation(reinterpret_cast<const void*>(address), [&](const Allocation& allocation) {
    found.begin = allocation.base;
    found.size = allocation.size;
    // Mappings in one reservation are one piece of memory to a program.
    found.end = allocation.origin == Origin::Physical ? UINTPTR_MAX : allocation.base + allocation.size;
    found.context = allocation.context.get();
    found.host_reads = allocation.type != ZE_MEMORY_TYPE_DEVICE;
  });
  if (!known) {
    found.freed = freed_lately(address);
    found.begin = address;
    found.size = 1;
    found.end = UINTPTR_MAX;
    found.host_reads = true;
  }
  // Freed memory may become the program's own without a call: it goes to the last place, which no lookup reads.
  return (found.freed ? recent_memories[kRecentMemories] : recent_memory(address)) = found;
}

}  // namespace anyzero
