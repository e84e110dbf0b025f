// Frees memory: at once, after the commands submitted so far, or deferred.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <vector>

#include "../../abi/error.h"
#include "../../system/interpreter_lock.h"
#include "../devices/device.h"
#include "../devices/driver.h"
#include "allocation.h"
#include "memory.h"

namespace anyzero {

namespace {

struct Deferred {
  std::unique_ptr<Allocation> allocation;
  std::vector<RingPoint> points;  // released first: a ring lives in the allocation's context
};

struct DeferredFrees {
  Guarded<std::vector<Deferred>> waiting;
  size_t next = 0;  // to look at; changed while `waiting` is open
  std::atomic<size_t> count{0};
};

DeferredFrees& deferred() {
  static DeferredFrees* frees = new DeferredFrees;  // leaked: memory is freed from exit handlers
  return *frees;
}

bool complete(const Deferred& free) {
  for (const RingPoint& point : free.points)
    if (!point.reached()) return false;
  return true;
}

ze_result_t refuse(const Context& context, const void* pointer) {
  const char* reason = "it is not an allocation of this driver, or was freed already";
  char text[96];
  with_allocation(pointer, [&](Allocation& allocation) {
    if (allocation.base != reinterpret_cast<uintptr_t>(pointer)) {
      std::snprintf(text, sizeof text, "it lies inside the allocation at %#zx; free that", static_cast<size_t>(allocation.base));
      reason = text;
    } else if (allocation.context.get() != &context) {
      reason = "it belongs to another context";
    } else if (allocation.origin == Origin::Ipc) {
      reason = "it was opened from another process; close it with zeMemCloseIpcHandle";
    } else if (allocation.origin == Origin::Physical) {
      reason = "it is mapped physical memory; unmap it with zeVirtualMemUnmap";
    } else if (allocation.origin == Origin::Module) {
      reason = "it holds a module's variables and is freed with the module";
    }
  });
  return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%p cannot be freed: %s", pointer, reason);
}

bool freeable(const Context& context, const Allocation& allocation) {
  return allocation.context.get() == &context && allocation.origin != Origin::Ipc && allocation.origin != Origin::Physical &&
         allocation.origin != Origin::Module;
}

// Removes the allocation; empty if it stays registered, because it was imported more often than freed.
struct Taken {
  bool found = false;
  std::unique_ptr<Allocation> allocation;
};

Taken take(Context& context, void* pointer) {
  Taken taken;
  taken.allocation = Allocations::take(pointer, [&](Allocation& allocation) {
    if (!freeable(context, allocation)) return false;
    taken.found = true;
    std::lock_guard lock(allocation.attributes_mutex);
    return --allocation.imports == 0;
  });
  return taken;
}

// The positions after which no command submitted so far uses the memory. Commands of any device of the driver may use it.
std::vector<RingPoint> last_uses(Context& context, const MemoryRange& memory, bool thorough) {
  std::vector<RingPoint> points;
  for (Device* device : context.driver().cards())
    for (RingPoint& point : device->submitted())
      if (point.narrow_to_use(memory, thorough)) points.push_back(std::move(point));
  return points;
}

// Moves the allocations that `take_out(add)` removes to the deferred frees, under one lock: a lookup finds memory in one of the
// two.
template <class F>
void defer(F&& take_out) {
  DeferredFrees& frees = deferred();
  auto waiting = frees.waiting.open();
  take_out([&](std::unique_ptr<Allocation> allocation, std::vector<RingPoint> points) {
    waiting->push_back({std::move(allocation), std::move(points)});
  });
  frees.count.store(waiting->size(), std::memory_order_release);
}

}  // namespace

bool sweep_deferred_frees() {
  DeferredFrees& frees = deferred();
  if (frees.count.load(std::memory_order_acquire) == 0) return false;
  std::vector<Deferred> done;
  {
    auto waiting = frees.waiting.open();
    // A few at a time, in turn: a sweep stays short however many are deferred.
    constexpr size_t kLooks = 64;
    for (size_t looks = std::min(kLooks, waiting->size()); looks > 0; --looks) {
      if (frees.next >= waiting->size()) frees.next = 0;
      Deferred& free = (*waiting)[frees.next];
      if (!complete(free)) {
        ++frees.next;
        continue;
      }
      std::swap(free, waiting->back());
      done.push_back(std::move(waiting->back()));
      waiting->pop_back();
    }
    frees.count.store(waiting->size(), std::memory_order_release);
  }
  for (Deferred& free : done) discard(std::move(free.allocation));
  return !done.empty();
}

bool with_deferred(uintptr_t address, const std::function<void(const Allocation&)>& look) {
  for (auto waiting = deferred().waiting.open(); const Deferred& free : *waiting) {
    if (!free.allocation->range().contains(address)) continue;
    look(*free.allocation);
    return true;
  }
  return false;
}

bool await_deferred_frees() {
  // With a timeout: a command may wait for an event that the caller signals after this allocation.
  constexpr int kLooks = 2000;
  constexpr timespec kPause = {0, 500'000};
  GilPause pause;
  for (int look = 0; look < kLooks && deferred().count.load(std::memory_order_acquire); ++look) {
    if (sweep_deferred_frees()) return true;
    nanosleep(&kPause, nullptr);
  }
  return sweep_deferred_frees();
}

ze_result_t Mem::free(Context& context, void* pointer) {
  sweep_deferred_frees();
  Taken taken = take(context, pointer);
  if (!taken.found) return refuse(context, pointer);
  if (taken.allocation) discard(std::move(taken.allocation));
  return ZE_RESULT_SUCCESS;
}

ze_result_t Mem::freeExt(Context& context, const ze_memory_free_ext_desc_t* desc, void* pointer) {
  constexpr uint32_t kBoth = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE | ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE;
  if ((desc->freePolicy & kBoth) == kBoth)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "a free is either blocking or deferred, not both");
  if (desc->freePolicy == 0) return free(context, pointer);
  MemoryRange range{};
  with_allocation(pointer, [&](Allocation& allocation) {
    if (allocation.base == reinterpret_cast<uintptr_t>(pointer) && freeable(context, allocation)) range = allocation.range();
  });
  if (range.begin == range.end) return refuse(context, pointer);
  Ref<Context> alive(&context);
  const bool blocking = desc->freePolicy & ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE;
  std::vector<RingPoint> points = last_uses(context, range, blocking);
  if (blocking) {
    for (RingPoint& point : points)
      if (point.wait() == ZE_RESULT_NOT_READY) return ZE_RESULT_NOT_READY;
    return free(context, pointer);
  }
  bool found = false;
  defer([&](auto&& add) {
    Taken taken = take(context, pointer);
    found = taken.found;
    if (taken.allocation) add(std::move(taken.allocation), std::move(points));
  });
  if (!found) return refuse(context, pointer);
  sweep_deferred_frees();
  return ZE_RESULT_SUCCESS;
}

void free_all(Context& context) {
  defer([&](auto&& add) {
    for (auto& allocation : Allocations::take_all(context)) {
      std::vector<RingPoint> points = last_uses(context, allocation->range(), false);
      add(std::move(allocation), std::move(points));
    }
  });
  sweep_deferred_frees();
}

}  // namespace anyzero
