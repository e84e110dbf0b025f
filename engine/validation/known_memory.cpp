#include "known_memory.h"

#include <memory>

namespace anyzero {

namespace {

// Calls while the thread ends look everything up.
constinit thread_local bool thread_ends = false;

void make_recent_memories() {
  struct Owner {
    std::unique_ptr<KnownMemory[]> all{new KnownMemory[kRecentMemories]};
    ~Owner() {
      recent_memories = nullptr;
      thread_ends = true;
    }
  };
  static thread_local Owner owner;
  recent_memories = owner.all.get();
}

}  // namespace

const KnownMemory& look_memory_up(uintptr_t address) {
  if (!recent_memories && !thread_ends) make_recent_memories();
  static constinit thread_local KnownMemory unkept;
  KnownMemory found;
  // Before the look: what changes meanwhile makes the entry old.
  found.version = allocation_changes.load(std::memory_order_relaxed);
  const bool known = with_allocation(reinterpret_cast<const void*>(address), [&](const Allocation& allocation) {
    found.begin = allocation.base;
    found.size = allocation.size;
    // What is mapped into one reservation is one piece of memory to a program.
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
  // Freed memory may become the program's own without a sign.
  return (recent_memories && !found.freed ? recent_memory(address) : unkept) = found;
}

}  // namespace anyzero
