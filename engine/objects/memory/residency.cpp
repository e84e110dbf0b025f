#include "residency.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "../../abi/error.h"
#include "../../exec/code.h"
#include "../../exec/program.h"
#include "../../system/settings.h"
#include "../devices/device.h"
#include "../images/image.h"
#include "allocation.h"
#include "memory.h"
#include "memory_account.h"

namespace anyzero {

namespace {

uint64_t bit(const Device& device) { return uint64_t{1} << device.index(); }

// A root device's residency holds for its tiles.
uint64_t bits_above(const Device& device) { return bit(device) | bit(device.root()); }

// Calls `stop` with each address among the arguments until it returns true; false if it never does.
template <class F>
bool any_argument(const Launch& launch, F&& stop) {
  for (const Argument& argument : launch.code->facts().arguments) {
    if (!argument.pointer()) continue;
    uintptr_t address;
    std::memcpy(&address, launch.args() + argument.offset, sizeof address);
    if (stop(address)) return true;
  }
  return false;
}

bool may_touch(const Reach& reach, const Allocation& allocation) {
  // Program-scope variables are a part of their kernels.
  if (allocation.origin == Origin::Module) return true;
  const uint64_t bits = bits_above(reach.device);
  if (allocation.resident.load(std::memory_order_acquire) & bits) return true;
  if (const uint32_t kinds = reach.kinds(); kinds && allocation.context.get() == &reach.context)
    if (reaches_all_of(kinds, allocation.type)) return true;
  if (reach.launch.flags & Launch::kOwnResidency) return false;
  if (!(allocation.named.load(std::memory_order_acquire) & bits)) return false;
  return any_argument(reach.launch, [memory = allocation.range()](uintptr_t address) { return memory.contains(address); });
}

// Does `change` to every allocation of the context in the range; false when there is none at its start.
template <class F>
bool change_residency(const Context& context, const void* pointer, size_t size, F&& change) {
  bool known = false;
  Allocations::each_in(pointer, size ? size : 1, [&](Allocation& allocation) {
    if (allocation.context.get() != &context) return known;
    if (allocation.base <= reinterpret_cast<uintptr_t>(pointer)) known = true;
    if (known) change(allocation);
    return known;
  });
  return known;
}

ze_result_t unknown(const void* pointer) {
  return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%p does not lie in an allocation of this context", pointer);
}

}  // namespace

uint64_t residency_bits(const Device& device) {
  uint64_t bits = bit(device);
  for (const Device* tile : device.tiles()) bits |= residency_bits(*tile);
  return bits;
}

void residency_note(Device& device, const void* pointer) {
  with_allocation(pointer, [&](Allocation& allocation) {
    if (!(allocation.named.load(std::memory_order_relaxed) & bit(device))) allocation.named.fetch_or(bit(device));
  });
}

bool residency_ok(const Device& device, const void* pointer, size_t size) {
  const uint64_t bits = bits_above(device);
  bool resident = true;
  Allocations::each_in(pointer, size ? size : 1, [&](Allocation& allocation) {
    resident = (allocation.resident.load(std::memory_order_acquire) | allocation.named.load(std::memory_order_acquire)) & bits;
    return resident;
  });
  return resident;
}

uint32_t Reach::kinds() const {
  if (launch.flags & Launch::kAllResident) return UINT32_MAX;
  return launch.flags & Launch::kOwnResidency ? 0 : launch.indirect;
}

const void* residency_missing(const Reach& reach) {
  const void* missing = nullptr;
  any_argument(reach.launch, [&](uintptr_t address) {
    const void* pointer = reinterpret_cast<void*>(address);
    with_allocation(pointer, [&](Allocation& allocation) {
      if (!may_touch(reach, allocation)) missing = pointer;
    });
    return missing != nullptr;
  });
  return missing;
}

bool residency_reaches(const Reach& reach, uintptr_t address, AddressRange* range) {
  constexpr uintptr_t kPage = 4096;
  const uintptr_t page = address & ~(kPage - 1);
  bool reached = false, known = false;
  *range = {page, page + kPage};
  Allocations::each_in(reinterpret_cast<void*>(page), kPage, [&](Allocation& allocation) {
    const uintptr_t end = allocation.base + allocation.size;
    if (allocation.range().contains(address)) {
      known = true;
      reached = may_touch(reach, allocation);
      *range = {allocation.base, end};
      return false;
    }
    // Between two allocations.
    if (end <= address) range->begin = end;
    if (allocation.base > address) range->end = allocation.base;
    if (may_touch(reach, allocation)) reached = true;
    return allocation.base <= address;
  });
  if (!known)
    known = with_deferred(address, [&](const Allocation& allocation) {
      reached = may_touch(reach, allocation);
      *range = {allocation.base, allocation.base + allocation.size};
    });
  return reached && (known || !settings.strict);
}

ze_result_t residency_check(const Context& context, const Device& device, uint32_t kinds) {
  if (!kinds || has_room_for_all(context, device, kinds)) return ZE_RESULT_SUCCESS;
  return fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
              "a kernel reaches all memory of some kinds, and the shared memory of the context does not fit into the device's %llu "
              "bytes at once; make what it needs resident instead (zeContextMakeMemoryResident)",
              static_cast<unsigned long long>(device.memory_total()));
}

ze_result_t residency_check(const Context& context, const Device& device, Program& program) {
  uint32_t kinds = 0;
  Cursor at{program.stream().first()};
  for (uint64_t i = 0; i < program.count(); ++i) {
    const Packet& packet = at.packet();
    if (packet.op == Op::Launch)
      for_each_launch(static_cast<const LaunchPacket&>(packet),
                      [&](const Launch& launch) { kinds |= Reach{context, device, launch}.kinds(); });
    at.advance(packet);
  }
  return residency_check(context, device, kinds);
}

ze_result_t Context::makeMemoryResident(Device& device, void* pointer, size_t size) {
  if (ze_result_t r = require(device)) return r;
  std::vector<uint64_t> made;  // ids of allocations that this call made resident
  uint64_t missing = 0;
  auto make = [&] {
    missing = 0;
    return change_residency(*this, pointer, size, [&](Allocation& allocation) {
      // Made resident first: from then on it is not moved away for others.
      const bool fresh = !(allocation.resident.fetch_or(bit(device)) & bit(device));
      if (move_to(allocation, device)) {
        if (fresh) made.push_back(allocation.id);
        return;
      }
      missing += allocation.charged;
      if (fresh) allocation.resident.fetch_and(~bit(device));
    });
  };
  if (!make()) return unknown(pointer);
  if (!missing || (make_room(device, missing) && make() && !missing)) return ZE_RESULT_SUCCESS;
  change_residency(*this, pointer, size, [&](Allocation& allocation) {
    if (std::find(made.begin(), made.end(), allocation.id) != made.end()) allocation.resident.fetch_and(~bit(device));
  });
  return fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
              "%llu bytes at %p do not fit: %llu of the device's %llu bytes are taken by its own memory and by what is resident; "
              "evict something first",
              static_cast<unsigned long long>(missing), pointer, static_cast<unsigned long long>(device.memory_used()),
              static_cast<unsigned long long>(device.memory_total()));
}

ze_result_t Context::evictMemory(Device& device, void* pointer, size_t size) {
  if (ze_result_t r = require(device)) return r;
  bool known = change_residency(*this, pointer, size, [&](Allocation& allocation) {
    allocation.resident.fetch_and(~residency_bits(device));
    allocation.named.fetch_and(~residency_bits(device));
  });
  return known ? ZE_RESULT_SUCCESS : unknown(pointer);
}

ze_result_t Context::makeImageResident(Device& device, Image& image) {
  if (ze_result_t r = require(device)) return r;
  if (&image.context() != this) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the image belongs to another context");
  if (!image.take_room(device))
    return fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
                "the image is another device's, and there is no room for it on this one: "
                "%llu of %llu bytes are in use; evict something first",
                static_cast<unsigned long long>(device.memory_used()), static_cast<unsigned long long>(device.memory_total()));
  image.set_resident(device, true);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Context::evictImage(Device& device, Image& image) {
  if (ze_result_t r = require(device)) return r;
  if (&image.context() != this) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the image belongs to another context");
  image.set_resident(device, false);
  image.give_room_back(device);
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
