#include "residency.h"

#include "../abi/error.h"
#include "allocation.h"
#include "device.h"
#include "image.h"

namespace anyzero {

namespace {

uint64_t bit(const Device& device) { return uint64_t{1} << device.index(); }

uint64_t bits_below(const Device& device) {
  uint64_t bits = bit(device);
  for (const Device* tile : device.tiles()) bits |= bits_below(*tile);
  return bits;
}

// Does `change` to every allocation of the context in the range; false when there is none at its start.
template <class F>
bool change_residency(const Context& context, const void* pointer, size_t size, F&& change) {
  bool known = false;
  Allocations::each_in(pointer, size ? size : 1, [&](Allocation& allocation) {
    if (allocation.context.get() != &context) return known;
    if (allocation.base <= reinterpret_cast<uintptr_t>(pointer)) known = true;
    if (known) change(allocation.resident);
    return known;
  });
  return known;
}

ze_result_t unknown(const void* pointer) {
  return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%p does not lie in an allocation of this context", pointer);
}

}  // namespace

void residency_note(Device& device, const void* pointer) {
  with_allocation(pointer, [&](Allocation& allocation) {
    if (!(allocation.resident.load(std::memory_order_relaxed) & bit(device))) allocation.resident.fetch_or(bit(device));
  });
}

void residency_note_kinds(const Context& context, Device& device, uint32_t indirect) {
  Allocations::each_in(nullptr, SIZE_MAX, [&](Allocation& allocation) {
    const bool reached = allocation.context.get() == &context && reaches_all_of(indirect, allocation.type);
    if (reached && !(allocation.resident.load(std::memory_order_relaxed) & bit(device))) allocation.resident.fetch_or(bit(device));
    return true;
  });
}

bool residency_ok(const Device& device, const void* pointer, size_t size) {
  uint64_t bits = bit(device) | bit(device.root());
  bool resident = true;
  Allocations::each_in(pointer, size ? size : 1, [&](Allocation& allocation) {
    resident = allocation.resident.load(std::memory_order_acquire) & bits;
    return resident;
  });
  return resident;
}

ze_result_t Context::makeMemoryResident(Device& device, void* pointer, size_t size) {
  if (ze_result_t r = require(device)) return r;
  bool known = change_residency(*this, pointer, size, [&](std::atomic<uint64_t>& resident) { resident.fetch_or(bit(device)); });
  return known ? ZE_RESULT_SUCCESS : unknown(pointer);
}

ze_result_t Context::evictMemory(Device& device, void* pointer, size_t size) {
  if (ze_result_t r = require(device)) return r;
  bool known =
      change_residency(*this, pointer, size, [&](std::atomic<uint64_t>& resident) { resident.fetch_and(~bits_below(device)); });
  return known ? ZE_RESULT_SUCCESS : unknown(pointer);
}

ze_result_t Context::makeImageResident(Device& device, Image& image) {
  if (ze_result_t r = require(device)) return r;
  if (&image.context() != this) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the image belongs to another context");
  image.set_resident(device, true);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Context::evictImage(Device& device, Image& image) {
  if (ze_result_t r = require(device)) return r;
  if (&image.context() != this) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the image belongs to another context");
  image.set_resident(device, false);
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
