// All allocations of the driver, by address, with their properties.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "../../abi/object.h"
#include "../../backends/backend.h"
#include "../../exec/packet.h"
#include "../../system/mutex.h"
#include "../devices/context.h"

namespace anyzero {

class Device;

enum class Origin : uint8_t {
  Heap,        // zeMemAlloc*
  System,      // the program's own memory, imported
  Descriptor,  // imported from a file descriptor
  Ipc,         // opened from another process's handle
  Physical,    // a physical memory object, mapped into a reservation
  Module,      // a module's program-scope variables
};

struct Allocation {
  uintptr_t base = 0;
  size_t size = 0;
  ze_memory_type_t type = ZE_MEMORY_TYPE_UNKNOWN;
  Origin origin = Origin::Heap;
  Ref<Context> context;
  Device* device = nullptr;  // none for host memory and for shared memory of no device
  uint64_t id = next_id();
  size_t page_size = 4096;
  uint32_t device_flags = 0;
  uint32_t host_flags = 0;

  Backend* backend = nullptr;
  Backend::Block block;    // Heap: the backend's; Descriptor and Ipc: a mapping of ours; Physical: the physical memory object's
  size_t shared_size = 0;  // Physical: bytes of the whole object, which is what another process opens
  uint64_t charged = 0;    // bytes on the account of `home`, or of the host when there is none
  Device* home = nullptr;
  std::vector<Device*> copies;  // more devices that account for it, because it is resident on them at the same time
  uint32_t imports = 1;         // System: the same range may be imported again and is then freed as often
  bool exported = false;        // changed under the export lock only

  // A bit per Device::index() each: made resident by the program, and named by a command since it was last evicted.
  std::atomic<uint64_t> resident{0}, named{0};
  std::atomic<Caching> caching{Caching::Usual};
  Mutex attributes_mutex;  // guards all below, and `home` and `copies` of shared memory
  std::vector<std::pair<const Device*, uint32_t>> atomic_attributes;
  const Device* preferred = nullptr;  // the preferred location by memory advice

  // The bytes of a file that stand for this allocation in another process; fd is -1 while there is no file.
  struct FileRange {
    int fd;
    uint64_t offset;
    uint64_t size;
  };
  FileRange file_range() const;

  MemoryRange range() const { return {base, base + size, type}; }
  const char* type_name() const;
  static uint64_t next_id();
};

// Counts allocations made and freed: facts about addresses hold as long as it stays the same.
inline constinit std::atomic<uint64_t> allocation_changes{1};

// Threading: any thread. Allocations are read under the lock, by a callback; a caller that removes one owns it alone.
class Allocations {
 public:
  // False, and the caller keeps `allocation`, if the range overlaps an existing one. Imported system memory is replaced by memory
  // that the system has handed out since: the program must have unmapped it.
  static bool add(std::unique_ptr<Allocation>& allocation);

  // Takes out the allocation that starts at `base`, if `agrees` to it. nullptr otherwise.
  template <class F>
  static std::unique_ptr<Allocation> take(const void* base, F&& agrees) {
    std::unique_lock lock(mutex());
    auto found = by_base().find(reinterpret_cast<uintptr_t>(base));
    if (found == by_base().end() || !agrees(*found->second)) return nullptr;
    std::unique_ptr<Allocation> taken = std::move(found->second);
    by_base().erase(found);
    allocation_changes.fetch_add(1, std::memory_order_relaxed);
    return taken;
  }

  // All allocations that share bytes with [from, from + size), in order. The callback returns false to stop.
  template <class F>
  static void each_in(const void* from, size_t size, F&& look) {
    uintptr_t begin = reinterpret_cast<uintptr_t>(from), end = begin + size < begin ? UINTPTR_MAX : begin + size;
    std::shared_lock lock(mutex());
    auto at = by_base().upper_bound(begin);
    if (at != by_base().begin() && std::prev(at)->second->base + std::prev(at)->second->size > begin) --at;
    for (; at != by_base().end() && at->first < end; ++at)
      if (!look(*at->second)) return;
  }

  // Everything that still belongs to `context`, taken out.
  static std::vector<std::unique_ptr<Allocation>> take_all(const Context& context);

 private:
  friend void describe_address(uintptr_t, char*, size_t);
  using Map = std::map<uintptr_t, std::unique_ptr<Allocation>>;
  static std::shared_mutex& mutex();
  static Map& by_base();
};

// Calls `look(allocation)` if one contains `pointer`; false otherwise. The callback must be short: it holds a lock.
template <class F>
bool with_allocation(const void* pointer, F&& look) {
  bool found = false;
  Allocations::each_in(pointer, 1, [&](Allocation& allocation) {
    found = true;
    look(allocation);
    return false;
  });
  return found;
}

// True if the address is in recently freed memory; if `surely`, only if check mode keeps it, so that it is nothing else by now.
bool freed_lately(uintptr_t address, bool surely = true);

// For fault reports: the allocation that contains an address, or the distance to the nearest one.
void describe_address(uintptr_t address, char* text, size_t size);

// Releases the resources of a removed allocation: the block, the mapping, the charge, and its exported handles.
void discard(std::unique_ptr<Allocation> allocation);

}  // namespace anyzero
