#include "allocation.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <iterator>

#include "../../check/finding.h"
#include "../../system/thread.h"
#include "../devices/device.h"
#include "../ipc/ipc.h"
#include "memory_account.h"
#include "virtual_memory.h"

namespace anyzero {

Allocation::FileRange Allocation::file_range() const {
  if (origin == Origin::Physical) return {block.fd, block.offset, shared_size};
  return {block.fd, block.offset + (base - reinterpret_cast<uintptr_t>(block.base)), size};
}

const char* Allocation::type_name() const {
  switch (type) {
    case ZE_MEMORY_TYPE_HOST:
      return "host";
    case ZE_MEMORY_TYPE_DEVICE:
      return "device";
    case ZE_MEMORY_TYPE_SHARED:
      return "shared";
    case ZE_MEMORY_TYPE_HOST_IMPORTED:
      return "imported host";
    default:
      return "unknown";
  }
}

uint64_t Allocation::next_id() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::shared_mutex& Allocations::mutex() {
  static std::shared_mutex* mutex = [] {
    // The lock is held across a fork, so that the child sees a consistent map. The child's thread did not take it, so it gets a new
    // one.
    pthread_atfork([] { Allocations::mutex().lock(); }, [] { Allocations::mutex().unlock(); }, nullptr);
    at_fork_child([] { mutex = new std::shared_mutex; });
    return new std::shared_mutex;
  }();
  return *mutex;
}

Allocations::Map& Allocations::by_base() {
  static Map* map = new Map;  // leaked: memory is freed from exit handlers
  return *map;
}

bool Allocations::add(std::unique_ptr<Allocation>& allocation) {
  uintptr_t base = allocation->base, end = base + allocation->size;
  bool fresh = allocation->origin != Origin::System && allocation->origin != Origin::Physical;
  std::unique_lock lock(mutex());
  allocation_changes.fetch_add(1, std::memory_order_relaxed);
  auto at = by_base().lower_bound(base);
  if (at != by_base().begin() && std::prev(at)->second->base + std::prev(at)->second->size > base) --at;
  while (at != by_base().end() && at->first < end) {
    if (!fresh || at->second->origin != Origin::System) return false;
    at = by_base().erase(at);
  }
  by_base().emplace_hint(at, base, std::move(allocation));
  return true;
}

std::vector<std::unique_ptr<Allocation>> Allocations::take_all(const Context& context) {
  std::vector<std::unique_ptr<Allocation>> taken;
  std::unique_lock lock(mutex());
  allocation_changes.fetch_add(1, std::memory_order_relaxed);
  for (auto at = by_base().begin(); at != by_base().end();) {
    if (at->second->context.get() == &context && at->second->origin != Origin::Physical && at->second->origin != Origin::Module) {
      taken.push_back(std::move(at->second));
      at = by_base().erase(at);
    } else {
      ++at;
    }
  }
  return taken;
}

namespace {

// Recently freed memory, so that a report can tell a use after free from a stray pointer.
struct FreedLately {
  struct Range {
    uintptr_t base;
    size_t size;
    const char* type;
    bool kept;  // nothing else can have got the addresses
  };
  Mutex mutex;
  Range ranges[256] = {};
  size_t next = 0;

  void add(const Allocation& allocation, bool kept) {
    std::lock_guard lock(mutex);
    ranges[next++ % std::size(ranges)] = {allocation.base, allocation.size, allocation.type_name(), kept};
  }
  bool find(uintptr_t address, Range* found) {
    std::lock_guard lock(mutex);
    for (size_t back = 1; back <= std::size(ranges) && back <= next; ++back) {
      *found = ranges[(next - back) % std::size(ranges)];
      if (address - found->base < found->size) return true;
    }
    return false;
  }
  void let_go(uintptr_t begin, size_t bytes) {
    std::lock_guard lock(mutex);
    for (Range& each : ranges)
      if (each.base - begin < bytes) each.kept = false;
  }
};

FreedLately& freed_ranges() {
  static FreedLately* freed = new FreedLately;  // leaked: memory is freed from exit handlers
  return *freed;
}

}  // namespace

bool freed_lately(uintptr_t address, bool surely) {
  FreedLately::Range found;
  return freed_ranges().find(address, &found) && (found.kept || !surely);
}

void describe_address(uintptr_t address, char* text, size_t size) {
  if (address < 4096) {
    std::snprintf(text, size, "a null pointer");
    return;
  }
  std::shared_lock lock(Allocations::mutex());
  auto& map = Allocations::by_base();
  auto next = map.upper_bound(address);
  const Allocation* above = next == map.end() ? nullptr : next->second.get();
  const Allocation* below = next == map.begin() ? nullptr : std::prev(next)->second.get();
  if (below && address - below->base < below->size) {
    std::snprintf(text, size, "inside the %s allocation of %zu bytes at %#zx, at offset %zu%s", below->type_name(), below->size,
                  static_cast<size_t>(below->base), static_cast<size_t>(address - below->base),
                  below->origin == Origin::Physical ? ", whose pages may be read-only or inaccessible" : "");
    return;
  }
  const size_t behind = below ? address - (below->base + below->size) : SIZE_MAX;
  const size_t before = above ? above->base - address : SIZE_MAX;
  // In the guard page of an allocation that has taken the place of a freed one, the access has left the new allocation.
  constexpr size_t kGuard = 4096;
  if (FreedLately::Range freed;
      freed_ranges().find(address, &freed) && (behind >= kGuard || below->base + below->size <= freed.base)) {
    std::snprintf(text, size, "inside the %s allocation of %zu bytes at %#zx, at offset %zu, which has been freed", freed.type,
                  freed.size, static_cast<size_t>(freed.base), static_cast<size_t>(address - freed.base));
    return;
  }
  const Allocation* nearest = behind <= before ? below : above;
  constexpr size_t kNear = size_t{16} << 20;
  if (nearest && std::min(behind, before) < kNear) {
    std::snprintf(text, size, "%zu bytes %s the %s allocation of %zu bytes at %#zx", std::min(behind, before),
                  nearest == below ? "after the end of" : "before", nearest->type_name(), nearest->size,
                  static_cast<size_t>(nearest->base));
    return;
  }
  lock.unlock();
  if (reserved_address(address)) {
    std::snprintf(text, size, "inside a virtual reservation, where nothing is mapped");
    return;
  }
  std::snprintf(text, size, "not in or near any allocation of this driver; freed already, or never allocated");
}

namespace {

// In check mode, freed blocks are kept for a while, so that nothing else gets their addresses and uses of them are seen.
void quarantine(Backend& backend, const Backend::Block& block) {
  struct Kept {
    Backend* backend;
    Backend::Block block;
  };
  static auto* all = new Guarded<std::deque<Kept>>;  // leaked: memory is freed from exit handlers
  constexpr size_t kBlocks = 256, kBytes = size_t{64} << 20;
  auto kept = all->open();
  kept->push_back({&backend, block});
  size_t bytes = 0;
  for (const Kept& each : *kept) bytes += each.block.capacity;
  while (kept->size() > kBlocks || (bytes > kBytes && !kept->empty())) {
    const Backend::Block& oldest = kept->front().block;
    bytes -= oldest.capacity;
    freed_ranges().let_go(reinterpret_cast<uintptr_t>(oldest.base), oldest.capacity);
    kept->front().backend->free(oldest);
    kept->pop_front();
  }
}

}  // namespace

void discard(std::unique_ptr<Allocation> allocation) {
  Allocation& a = *allocation;
  const bool keeps = is_checked(kCheckMemory) && (a.origin == Origin::Heap || a.origin == Origin::Module);
  // The program's own memory is not freed.
  if (a.origin != Origin::System) freed_ranges().add(a, keeps);
  if (a.exported) ipc_revoke_fd(a.block.fd, a.file_range().offset);
  switch (a.origin) {
    case Origin::Heap:
    case Origin::Module:
      if (keeps) [[unlikely]]
        quarantine(*a.backend, a.block);
      else
        a.backend->free(a.block);
      break;
    case Origin::Descriptor:
    case Origin::Ipc:
      munmap(a.block.base, a.block.capacity);
      close(a.block.fd);
      break;
    case Origin::System:
    case Origin::Physical:
      break;
  }
  refund(a);
}

}  // namespace anyzero
