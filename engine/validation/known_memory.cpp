#include "known_memory.h"

#include <pthread.h>

#include <algorithm>

namespace anyzero {

namespace {

void make_memories() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, [](void* own) {
      memories = &no_memories;
      delete static_cast<ThreadMemories*>(own);
    });
    return made;
  }();
  memories = new ThreadMemories;
  pthread_setspecific(key, memories);
}

}  // namespace

const KnownMemory& look_memory_up(uintptr_t address) {
  if (memories == &no_memories) make_memories();
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
  return memories->recent[found.freed ? kRecentMemories : recent_place(address)] = found;
}

bool let_pass(const void* pointer, const Context& context) {
  const KnownMemory& memory = known_memory(pointer);
  if (memory.freed || (memory.context && memory.context != &context)) return false;
  ThreadMemories& own = *memories;
  if (own.version != memory.version || own.context != &context) {
    std::ranges::fill(own.passing, PassingMemory{});
    own.version = memory.version;
    own.context = &context;
  }
  own.passing[passing_place(reinterpret_cast<uintptr_t>(pointer))] = {memory.begin, memory.size, memory.end - memory.begin};
  return true;
}

}  // namespace anyzero
