#include "memory_advice.h"

#include <sys/mman.h>

#include "../../exec/packet.h"
#include "../devices/device.h"
#include "allocation.h"
#include "memory_account.h"

namespace anyzero {

std::atomic<bool> any_caching_advice{false};

namespace {

void set_bias(Allocation& allocation, Caching caching) {
  allocation.caching.store(caching, std::memory_order_relaxed);
  if (caching != Caching::Usual) any_caching_advice.store(true, std::memory_order_relaxed);
}

void prefer(Allocation& allocation, const Device* device) {
  std::lock_guard lock(allocation.attributes_mutex);
  allocation.preferred = device;
}

void apply(const AdvisePacket& advice, Allocation& allocation) {
  switch (advice.advice) {
    case ZE_MEMORY_ADVICE_SET_PREFERRED_LOCATION:
      prefer(allocation, advice.device);
      move_to(allocation, *advice.device);
      break;
    case ZE_MEMORY_ADVICE_CLEAR_PREFERRED_LOCATION:
      prefer(allocation, nullptr);
      break;
    case ZE_MEMORY_ADVICE_SET_SYSTEM_MEMORY_PREFERRED_LOCATION:
      prefer(allocation, nullptr);
      move_to_host(allocation);
      break;
    case ZE_MEMORY_ADVICE_BIAS_CACHED:
      set_bias(allocation, Caching::Keep);
      break;
    case ZE_MEMORY_ADVICE_BIAS_UNCACHED:
      set_bias(allocation, Caching::Bypass);
      break;
    default:
      break;
  }
}

}  // namespace

void prefetch_memory(Device& device, const void* at, size_t bytes) {
  constexpr uintptr_t kPage = 4096;
  Allocations::each_in(at, bytes, [&](Allocation& allocation) {
    move_to(allocation, device);
    return true;
  });
  const uintptr_t from = reinterpret_cast<uintptr_t>(at) & ~(kPage - 1), to = reinterpret_cast<uintptr_t>(at) + bytes;
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
  // Only a hint: failure is ignored.
  madvise(reinterpret_cast<void*>(from), to - from, MADV_POPULATE_WRITE);
}

void advise_memory(const AdvisePacket& advice) {
  Allocations::each_in(advice.at, advice.bytes, [&](Allocation& allocation) {
    apply(advice, allocation);
    return true;
  });
}

Caching advised_caching(const void* to) {
  Caching found = Caching::Usual;
  with_allocation(to, [&](Allocation& allocation) { found = allocation.caching.load(std::memory_order_relaxed); });
  return found;
}

void set_caching_by_flags(Allocation& allocation) {
  constexpr uint32_t kUncached = ZE_HOST_MEM_ALLOC_FLAG_BIAS_UNCACHED | ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED;
  if ((allocation.device_flags & ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_UNCACHED) || (allocation.host_flags & kUncached)) {
    set_bias(allocation, Caching::Bypass);
  } else if ((allocation.device_flags & ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_CACHED) ||
             (allocation.host_flags & ZE_HOST_MEM_ALLOC_FLAG_BIAS_CACHED)) {
    set_bias(allocation, Caching::Keep);
  }
}

}  // namespace anyzero
