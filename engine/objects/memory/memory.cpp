#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "../../abi/error.h"
#include "../../check/finding.h"
#include "../devices/device.h"
#include "allocation.h"
#include "memory_account.h"
#include "memory_advice.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace anyzero {

namespace {

constexpr size_t kPageSize = 4096;
constexpr size_t kPitchAlignment = 64;

ze_result_t out_of_memory(const Request& request) {
  if (!request.device) {
    return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "%zu bytes of host memory: %llu of %llu bytes are in use", request.size,
                static_cast<unsigned long long>(host_memory_used()), static_cast<unsigned long long>(host_memory_total()));
  }
  return fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "%zu bytes of device memory: %llu of %llu bytes are in use", request.size,
              static_cast<unsigned long long>(request.device->memory_used()),
              static_cast<unsigned long long>(request.device->memory_total()));
}

bool relaxed(const void* chain) {
  auto* ext = find_desc<ze_relaxed_allocation_limits_ext_desc_t>(chain, ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC);
  auto* exp = find_desc<ze_relaxed_allocation_limits_exp_desc_t>(chain, ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC);
  return (ext && (ext->flags & ZE_RELAXED_ALLOCATION_LIMITS_EXT_FLAG_MAX_SIZE)) ||
         (exp && (exp->flags & ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE));
}

ze_result_t check_size(const Request& request) {
  if (relaxed(request.device_chain) || relaxed(request.host_chain)) return ZE_RESULT_SUCCESS;
  uint64_t limit = request.device ? request.device->max_allocation() : 0;
  if (!request.device)
    for (const Device* device : request.context.devices()) limit = std::max(limit, device->max_allocation());
  if (request.size <= limit) return ZE_RESULT_SUCCESS;
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
              "%zu bytes exceed maxMemAllocSize (%llu); chain a ze_relaxed_allocation_limits_ext_desc_t to ask for more",
              request.size, static_cast<unsigned long long>(limit));
}

// `home` is the device that accounts for the block, or nullptr for the host.
bool charge(const Request& request, Device** home) {
  if (request.device && request.type == ZE_MEMORY_TYPE_SHARED) return charge_shared(*request.device, request.size, home);
  *home = request.device;
  return charge(request.device, request.size);
}

bool take_block(const Request& request, Backend& backend, Backend::Block* block, Device** home) {
  // Memory whose free is deferred counts as free, if the commands that use it end in time.
  if (!charge(request, home)) {
    bool charged = (sweep_deferred_frees() && charge(request, home)) || (await_deferred_frees() && charge(request, home));
    if (!charged) return false;
  }
  if (backend.allocate(request.size, request.alignment, block)) return true;
  if (await_deferred_frees() && backend.allocate(request.size, request.alignment, block)) return true;
  refund(*home, request.size);
  return false;
}

// Populates the pages of memory with an initial location; other pages come with the first access. Only a hint: Linux before 5.14
// cannot do it.
void place(const Request& request, const Backend::Block& block) {
  if (!(request.device_flags & ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_INITIAL_PLACEMENT) &&
      !(request.host_flags & ZE_HOST_MEM_ALLOC_FLAG_BIAS_INITIAL_PLACEMENT))
    return;
  const uintptr_t base = reinterpret_cast<uintptr_t>(block.base);
  const uintptr_t first = base / kPageSize * kPageSize, last = (base + request.size + kPageSize - 1) / kPageSize * kPageSize;
  madvise(reinterpret_cast<void*>(first), last - first, MADV_POPULATE_WRITE);
}

ze_result_t allocate(const Request& request, void** pointer) {
  sweep_deferred_frees();
  if (ze_result_t r = check_size(request)) return r;
  for (const void* chain : {request.device_chain, request.host_chain})
    if (auto* import = find_desc<ze_external_memory_import_fd_t>(chain, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD))
      return import_descriptor(request, *import, pointer);
  uint32_t exports = 0;
  for (const void* chain : {request.device_chain, request.host_chain})
    if (auto* desc = find_desc<ze_external_memory_export_desc_t>(chain, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC))
      exports |= desc->flags;
  if (ze_result_t r = check_external_types(request.context, request.device, exports, false)) return r;

  Request wanted = request;
  // A process that maps the descriptor may not know the offset: such a block gets a file of its own.
  constexpr size_t kOwnFile = size_t{2} << 20;
  if (exports) wanted.alignment = std::max(wanted.alignment, kOwnFile);
  // Pages of its own, for reads by the host that come too early.
  if (request.type != ZE_MEMORY_TYPE_DEVICE && is_checked(kCheckRaces)) wanted.alignment = std::max(wanted.alignment, kPageSize);
  auto allocation = std::make_unique<Allocation>();
  allocation->backend = &(request.device ? *request.device : *request.context.devices().front()).backend();
  if (!take_block(wanted, *allocation->backend, &allocation->block, &allocation->home)) return out_of_memory(request);
  place(request, allocation->block);
  allocation->base = reinterpret_cast<uintptr_t>(allocation->block.base);
  allocation->size = request.size;
  allocation->type = request.type;
  allocation->context = Ref<Context>(&request.context);
  allocation->device = request.device;
  allocation->device_flags = request.device_flags;
  allocation->host_flags = request.host_flags;
  allocation->charged = request.size;
  set_caching_by_flags(*allocation);
  if (exports)
    if (ze_result_t r = make_shareable(*allocation)) {
      discard(std::move(allocation));
      return r;
    }
  void* base = allocation->block.base;
  if (!Allocations::add(allocation)) {
    discard(std::move(allocation));
    return fail(ZE_RESULT_ERROR_UNKNOWN, "the heap handed out %p, which is in use", base);
  }
  *pointer = base;
  return ZE_RESULT_SUCCESS;
}

// Faults one page in; false if an access would be refused. Linux before 5.14 cannot tell, and the answer is true.
bool reachable(void* page, bool read_only) {
  alignas(kPageSize) static unsigned char probe[kPageSize];
  static const bool able = madvise(probe, kPageSize, MADV_POPULATE_READ) == 0;
  return !able || madvise(page, kPageSize, read_only ? MADV_POPULATE_READ : MADV_POPULATE_WRITE) == 0;
}

// True for mapped whole pages that are readable and, unless `read_only`, writable. Changes none of them.
bool usable(void* base, size_t size, bool read_only) {
  if (msync(base, size, MS_ASYNC) != 0) return false;  // fails on holes and does nothing else
  return reachable(base, read_only) && reachable(static_cast<unsigned char*>(base) + size - kPageSize, read_only);
}

ze_result_t import_system(const Request& request, const ze_external_memmap_sysmem_ext_desc_t& desc, void** pointer) {
  uintptr_t base = reinterpret_cast<uintptr_t>(desc.pSystemMemory);
  if (!base) return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "pSystemMemory must not be null");
  if (base % kPageSize) {
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "pSystemMemory (%p) must be a multiple of the page size (%zu)",
                desc.pSystemMemory, kPageSize);
  }
  if (desc.size == 0 || desc.size % kPageSize || request.size > desc.size) {
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                "the size to map (%llu) must be a multiple of the page size (%zu) and hold the allocation",
                static_cast<unsigned long long>(desc.size), kPageSize);
  }
  if (base + desc.size < base ||
      !usable(desc.pSystemMemory, desc.size, request.host_flags & ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY)) {
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "%p is not writable memory of this process (read-only memory needs ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY)",
                desc.pSystemMemory);
  }
  bool again = false;
  with_allocation(desc.pSystemMemory, [&](Allocation& known) {
    if (known.origin != Origin::System || known.base != base || known.size != desc.size || known.context.get() != &request.context)
      return;
    std::lock_guard lock(known.attributes_mutex);
    ++known.imports;
    again = true;
  });
  if (!again) {
    auto allocation = std::make_unique<Allocation>();
    allocation->base = base;
    allocation->size = desc.size;
    allocation->type = ZE_MEMORY_TYPE_HOST_IMPORTED;
    allocation->origin = Origin::System;
    allocation->context = Ref<Context>(&request.context);
    allocation->host_flags = request.host_flags;
    if (!Allocations::add(allocation)) {
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the range at %p overlaps memory that the driver has already; free that first",
                  desc.pSystemMemory);
    }
  }
  *pointer = desc.pSystemMemory;
  return ZE_RESULT_SUCCESS;
}

ze_result_t check_ordinal(const Device& device, uint32_t ordinal) {
  if (ordinal < std::max(device.memories(), 1u)) return ZE_RESULT_SUCCESS;
  return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the device has %u memories; there is no ordinal %u", device.memories(), ordinal);
}

ze_result_t check_host_flags(uint32_t flags) {
  constexpr uint32_t kBoth = ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY | ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED;
  if ((flags & kBoth) != kBoth) return ZE_RESULT_SUCCESS;
  return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "host memory is either read-only for devices or write-combined, not both");
}

}  // namespace

ze_result_t Mem::allocDevice(Context& context, const ze_device_mem_alloc_desc_t* desc, size_t size, size_t alignment,
                             Device& device, void** pointer) {
  if (ze_result_t r = context.require(device)) return r;
  if (ze_result_t r = check_ordinal(device, desc->ordinal)) return r;
  return allocate({context, &device, ZE_MEMORY_TYPE_DEVICE, size, alignment, desc->pNext, nullptr, desc->flags, 0}, pointer);
}

ze_result_t Mem::allocHost(Context& context, const ze_host_mem_alloc_desc_t* desc, size_t size, size_t alignment, void** pointer) {
  if (ze_result_t r = check_host_flags(desc->flags)) return r;
  Request request{context, nullptr, ZE_MEMORY_TYPE_HOST, size, alignment, nullptr, desc->pNext, 0, desc->flags};
  auto* system = find_desc<ze_external_memmap_sysmem_ext_desc_t>(desc->pNext, ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC);
  return system ? import_system(request, *system, pointer) : allocate(request, pointer);
}

ze_result_t Mem::allocShared(Context& context, const ze_device_mem_alloc_desc_t* device_desc,
                             const ze_host_mem_alloc_desc_t* host_desc, size_t size, size_t alignment, Device* device,
                             void** pointer) {
  if (device) {
    if (ze_result_t r = context.require(*device)) return r;
    if (ze_result_t r = check_ordinal(*device, device_desc->ordinal)) return r;
  }
  if (ze_result_t r = check_host_flags(host_desc->flags)) return r;
  return allocate({context, device, ZE_MEMORY_TYPE_SHARED, size, alignment, device_desc->pNext, host_desc->pNext,
                   device_desc->flags, host_desc->flags},
                  pointer);
}

ze_result_t Mem::getAllocProperties(Context& context, const void* pointer, ze_memory_allocation_properties_t* properties,
                                    ze_device_handle_t* device) {
  properties->type = ZE_MEMORY_TYPE_UNKNOWN;
  properties->id = 0;
  properties->pageSize = 0;
  if (device) *device = nullptr;
  ze_result_t result = ZE_RESULT_SUCCESS;
  with_allocation(pointer, [&](Allocation& allocation) {
    if (allocation.context.get() != &context) return;
    properties->type = allocation.type;
    properties->id = allocation.id;
    properties->pageSize = allocation.page_size;
    if (device && allocation.device) *device = handle_of<ze_device_handle_t>(allocation.device);
    if (auto* parts = find_property<ze_memory_sub_allocations_exp_properties_t>(
            properties->pNext, ZE_STRUCTURE_TYPE_MEMORY_SUB_ALLOCATIONS_EXP_PROPERTIES);
        parts && parts->pCount) {
      // An allocation is one piece.
      if (*parts->pCount && parts->pSubAllocations)
        parts->pSubAllocations[0] = {reinterpret_cast<void*>(allocation.base), allocation.size};
      *parts->pCount = 1;
    }
    result = export_descriptor(allocation, properties->pNext);
  });
  return result;
}

ze_result_t Mem::getAddressRange(Context& context, const void* pointer, void** base, size_t* size) {
  bool known = false;
  with_allocation(pointer, [&](Allocation& allocation) {
    if (allocation.context.get() != &context) return;
    known = true;
    if (base) *base = reinterpret_cast<void*>(allocation.base);
    if (size) *size = allocation.size;
  });
  if (known) return ZE_RESULT_SUCCESS;
  return fail(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, "%p does not lie in an allocation of this context", pointer);
}

ze_result_t Mem::getPitchFor2dImage(Context& context, Device& device, size_t width, size_t, unsigned int element_size,
                                    size_t* row_pitch) {
  if (ze_result_t r = context.require(device)) return r;
  size_t row;
  if (__builtin_mul_overflow(width, size_t{element_size}, &row) || row > SIZE_MAX - kPitchAlignment)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "a row of %zu elements of %u bytes does not fit into memory", width,
                element_size);
  *row_pitch = (row + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
