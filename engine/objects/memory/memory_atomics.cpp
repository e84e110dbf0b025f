// Atomic access attributes: stored and returned, without effect, because all accesses of the processor are coherent.
#include <sys/mman.h>
#include <unistd.h>

#include "../../abi/error.h"
#include "../devices/context.h"
#include "../devices/device.h"
#include "allocation.h"
#include "memory.h"

namespace anyzero {

namespace {

constexpr uint32_t kUsualAtomics = ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_DEVICE_ATOMICS;

ze_result_t check_attributes(uint32_t attributes) {
  struct {
    uint32_t allowed, forbidden;
  } constexpr kPairs[] = {{ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_HOST_ATOMICS, ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_HOST_ATOMICS},
                          {ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_DEVICE_ATOMICS, ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_DEVICE_ATOMICS},
                          {ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_SYSTEM_ATOMICS, ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_SYSTEM_ATOMICS}};
  for (auto [allowed, forbidden] : kPairs)
    if ((attributes & allowed) && (attributes & (forbidden | ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_ATOMICS)))
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%#x allows and forbids the same atomics", attributes);
  return ZE_RESULT_SUCCESS;
}

bool mapped(uintptr_t address) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char in_core;
  return mincore(reinterpret_cast<void*>(address / page * page), page, &in_core) == 0;
}

// Memory of the system's allocator, which a device with on-demand paging can use as well.
bool system_memory(const Device& device, uintptr_t begin, size_t size) {
  uintptr_t end;
  return device.pages_on_demand() && size && !__builtin_add_overflow(begin, size, &end) && mapped(begin) && mapped(end - 1);
}

// Calls `use` with the context's allocation that contains the address, or with nullptr for memory of the system's allocator.
template <class Use>
ze_result_t find_memory(const Context& context, const Device& device, const void* pointer, size_t size, Use&& use) {
  if (ze_result_t r = context.require(device)) return r;
  bool allocated = false, known = false;
  with_allocation(pointer, [&](Allocation& allocation) {
    allocated = true;
    known = allocation.context.get() == &context;
    if (known) use(&allocation);
  });
  if (!allocated && system_memory(device, reinterpret_cast<uintptr_t>(pointer), size)) {
    use(nullptr);
    known = true;
  }
  return known ? ZE_RESULT_SUCCESS
               : fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                      "%p lies neither in an allocation of this context nor in system memory that the device can access", pointer);
}

template <class Use>
void with_system(Context& context, const Device& device, Use&& use) {
  auto open = context.system_atomics().open();
  use(open->try_emplace(&device, kUsualAtomics).first->second);
}

}  // namespace

ze_result_t Mem::setAtomicAccessAttributeExp(Context& context, Device& device, const void* pointer, size_t size,
                                             ze_memory_atomic_attr_exp_flags_t attributes) {
  if (ze_result_t r = check_attributes(attributes)) return r;
  return find_memory(context, device, pointer, size, [&](Allocation* allocation) {
    const auto begin = reinterpret_cast<uintptr_t>(pointer);
    if (!allocation) return with_system(context, device, [&](auto& ranges) { ranges.set(begin, begin + size, attributes); });
    std::lock_guard lock(allocation->attributes_mutex);
    for (auto& [owner, value] : allocation->atomic_attributes)
      if (owner == &device) return void(value = attributes);
    allocation->atomic_attributes.emplace_back(&device, attributes);
  });
}

ze_result_t Mem::getAtomicAccessAttributeExp(Context& context, Device& device, const void* pointer, size_t size,
                                             ze_memory_atomic_attr_exp_flags_t* attributes) {
  return find_memory(context, device, pointer, size, [&](Allocation* allocation) {
    const auto begin = reinterpret_cast<uintptr_t>(pointer);
    if (!allocation) return with_system(context, device, [&](auto& ranges) { *attributes = ranges.at(begin); });
    *attributes = kUsualAtomics;
    std::lock_guard lock(allocation->attributes_mutex);
    for (auto& [owner, value] : allocation->atomic_attributes)
      if (owner == &device) *attributes = value;
  });
}

}  // namespace anyzero
