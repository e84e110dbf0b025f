#include "virtual_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

#include "../../abi/error.h"
#include "../devices/device.h"
#include "../ipc/ipc.h"
#include "../ipc/ipc_descriptor.h"
#include "allocation.h"
#include "memory.h"
#include "memory_account.h"
#include "range_map.h"

namespace anyzero {

namespace {

constexpr size_t kPageSize = 4096;
constexpr int kReserveFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

struct MappedRange {
  uintptr_t end;
  Ref<PhysicalMem> memory;
  size_t offset;
  uint64_t id;
};

struct Reservation {
  uintptr_t end;
  Ref<Context> context;
  std::map<uintptr_t, MappedRange> mappings;
  // The access that the program set, also for pages without a mapping, which cannot be accessed in any case.
  RangeMap<ze_memory_access_attribute_t> access{ZE_MEMORY_ACCESS_ATTRIBUTE_NONE};
};

struct Reservations {
  Mutex mutex;
  std::map<uintptr_t, Reservation> by_base;

  // The reservation that contains the whole range.
  std::map<uintptr_t, Reservation>::iterator find(uintptr_t begin, uintptr_t end) {
    auto next = by_base.upper_bound(begin);
    if (next == by_base.begin() || std::prev(next)->second.end < end || end < begin) return by_base.end();
    return std::prev(next);
  }
};

Reservations& reservations() {
  static Reservations* all = new Reservations;  // leaked: used from exit handlers
  return *all;
}

int protection(ze_memory_access_attribute_t access) {
  if (access == ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE) return PROT_READ | PROT_WRITE;
  return access == ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY ? PROT_READ : PROT_NONE;
}

ze_result_t check_pages(const void* pointer, size_t size) {
  if (reinterpret_cast<uintptr_t>(pointer) % kPageSize)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "%p must be a multiple of the page size (%zu)", pointer, kPageSize);
  if (size % kPageSize)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "the size (%zu) must be a multiple of the page size (%zu)", size, kPageSize);
  return ZE_RESULT_SUCCESS;
}

ze_result_t not_reserved(const void* pointer, size_t size) {
  return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the %zu bytes at %p do not lie in one reservation of this context", size, pointer);
}

// Checks the range and finds its reservation. Call it with the lock held.
ze_result_t look_up(const Context& context, const void* pointer, size_t size, Reservation** found) {
  uintptr_t begin = reinterpret_cast<uintptr_t>(pointer);
  auto at = reservations().find(begin, begin + size);
  if (at == reservations().by_base.end() || at->second.context.get() != &context) return not_reserved(pointer, size);
  *found = &at->second;
  return ZE_RESULT_SUCCESS;
}

// Registers the mapping, so that queries about its addresses find it.
bool enlist(uintptr_t begin, const MappedRange& mapping) {
  auto allocation = std::make_unique<Allocation>();
  allocation->base = begin;
  allocation->size = mapping.end - begin;
  allocation->type = mapping.memory->type();
  allocation->origin = Origin::Physical;
  allocation->context = Ref<Context>(&mapping.memory->context());
  allocation->device = mapping.memory->device();
  allocation->id = mapping.id;
  allocation->block = mapping.memory->block();
  allocation->shared_size = mapping.memory->size();
  return Allocations::add(allocation);
}

void delist(uintptr_t begin) {
  Allocations::take(reinterpret_cast<void*>(begin), [](Allocation& allocation) { return allocation.origin == Origin::Physical; });
}

bool overlaps(const Reservation& reservation, uintptr_t begin, uintptr_t end) {
  auto next = reservation.mappings.lower_bound(begin);
  return (next != reservation.mappings.end() && next->first < end) ||
         (next != reservation.mappings.begin() && std::prev(next)->second.end > begin);
}

ze_result_t take_memory(Device& device, bool on_host, size_t size, Backend::Block* block) {
  Device* const account = on_host ? nullptr : &device;
  if (!charge(account, size) && !(await_deferred_frees() && charge(account, size))) {
    return fail(on_host ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY : ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
                "%zu bytes of physical memory: not that much is left", size);
  }
  if (device.backend().allocate(size, kPageSize, block) && device.backend().share(block)) return ZE_RESULT_SUCCESS;
  device.backend().free(*block);
  refund(account, size);
  return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "%zu bytes of physical memory: the system has no memory or descriptors left",
              size);
}

ze_result_t take_descriptor(const Context& context, const Device& device, const ze_external_memory_import_fd_t& import, size_t size,
                            Backend::Block* block) {
  if (ze_result_t r = check_external_types(context, &device, import.flags, true)) return r;
  uint64_t offset, available;
  if (import.fd < 0 || !ipc_describe(import.fd, &offset, &available) || offset % kPageSize)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "descriptor %d holds no memory in whole pages", import.fd);
  if (size > available)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "descriptor %d holds %llu bytes, fewer than the %zu asked for", import.fd,
                static_cast<unsigned long long>(available), size);
  int own = fcntl(import.fd, F_DUPFD_CLOEXEC, 3);
  if (own < 0) return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no file descriptors left: %s", std::strerror(errno));
  *block = {.base = nullptr, .capacity = size, .fd = own, .offset = offset};
  return ZE_RESULT_SUCCESS;
}

}  // namespace

bool reserved_address(uintptr_t address) {
  std::lock_guard lock(reservations().mutex);
  return reservations().find(address, address + 1) != reservations().by_base.end();
}

PhysicalMem::PhysicalMem(Context& context, Device& device, size_t size, bool on_host, bool imported, const Backend::Block& block)
    : context_(&context),
      device_(device),
      size_(size),
      on_host_(on_host),
      imported_(imported),
      id_(Allocation::next_id()),
      block_(block) {}

PhysicalMem::~PhysicalMem() {
  ipc_revoke_fd(block_.fd, block_.offset);
  if (imported_) {
    close(block_.fd);
    return;
  }
  device_.backend().free(block_);
  refund(device(), size_);
}

ze_result_t PhysicalMem::create(Context& context, Device* chosen, ze_physical_mem_desc_t* desc, ze_physical_mem_handle_t* handle) {
  if (!chosen && !(desc->flags & ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST))
    return fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "physical device memory needs a device; only host memory takes none");
  Device& device = chosen ? *chosen : *context.devices().front();
  if (ze_result_t r = context.require(device)) return r;
  if (ze_result_t r = check_pages(nullptr, desc->size)) return r;
  constexpr uint32_t kBoth = ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE | ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST;
  if ((desc->flags & kBoth) == kBoth)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "physical memory is on the device or on the host, not both");
  bool on_host = desc->flags & ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST;
  if (auto* exports = find_desc<ze_external_memory_export_desc_t>(desc->pNext, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC))
    if (ze_result_t r = check_external_types(context, &device, exports->flags, false)) return r;
  Backend::Block block;
  auto* import = find_desc<ze_external_memory_import_fd_t>(desc->pNext, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD);
  if (import) {
    if (ze_result_t r = take_descriptor(context, device, *import, desc->size, &block)) return r;
  } else if (ze_result_t r = take_memory(device, on_host, desc->size, &block)) {
    return r;
  }
  *handle = handle_of<ze_physical_mem_handle_t>(make(context, device, desc->size, on_host, import != nullptr, block));
  return ZE_RESULT_SUCCESS;
}

ze_result_t PhysicalMem::destroy(Context& context, PhysicalMem& memory) {
  if (&memory.context() != &context)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the physical memory belongs to another context");
  {
    std::lock_guard lock(reservations().mutex);
    if (memory.mappings_)
      return fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "the physical memory is mapped %u times; unmap it first", memory.mappings_);
    memory.retain();  // the handle dies under the lock, so that no map can come in between; the memory behind it outside
    memory.retire();
  }
  memory.release();
  return ZE_RESULT_SUCCESS;
}

ze_result_t PhysicalMem::getProperties(Context& context, PhysicalMem& memory, ze_physical_mem_properties_t* properties) {
  if (&memory.context() != &context)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the physical memory belongs to another context");
  properties->id = memory.id_;
  properties->size = memory.size_;
  auto* wanted = find_property<ze_external_memory_export_fd_t>(properties->pNext, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD);
  if (!wanted) return ZE_RESULT_SUCCESS;
  if (ze_result_t r = check_external_types(context, &memory.device_, wanted->flags, false)) return r;
  return lend_bytes({memory.block_.fd, memory.block_.offset, memory.size_}, wanted->flags, &wanted->fd);
}

ze_result_t PhysicalMem::export_handle(const Context& context, ze_ipc_mem_handle_t* handle) {
  if (context_.get() != &context) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the physical memory belongs to another context");
  return export_bytes({block_.fd, block_.offset, size_}, type(), 0, handle);
}

ze_result_t VirtualMem::reserve(Context& context, const void* start, size_t size, void** pointer) {
  if (ze_result_t r = check_pages(start, size)) return r;
  constexpr size_t kHuge = size_t{2} << 20;
  void* base = MAP_FAILED;
  if (start) base = mmap(const_cast<void*>(start), size, PROT_NONE, kReserveFlags | MAP_FIXED_NOREPLACE, -1, 0);
  if (base != MAP_FAILED && base != start) {  // a kernel that does not know the flag takes the address for a hint
    munmap(base, size);
    base = MAP_FAILED;
  }
  if (base == MAP_FAILED && size >= kHuge && size < SIZE_MAX - kHuge) {
    // Aligned, so that a large mapping can have large pages.
    void* wide = mmap(nullptr, size + kHuge, PROT_NONE, kReserveFlags, -1, 0);
    if (wide != MAP_FAILED) {
      uintptr_t from = reinterpret_cast<uintptr_t>(wide), at = (from + kHuge - 1) / kHuge * kHuge;
      if (at > from) munmap(wide, at - from);
      munmap(reinterpret_cast<void*>(at + size), from + kHuge - at);
      base = reinterpret_cast<void*>(at);
    }
  }
  if (base == MAP_FAILED) base = mmap(nullptr, size, PROT_NONE, kReserveFlags, -1, 0);
  if (base == MAP_FAILED)
    return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "%zu bytes of address space: %s", size, std::strerror(errno));
  uintptr_t begin = reinterpret_cast<uintptr_t>(base);
  Reservation reservation{begin + size, Ref<Context>(&context), {}};
  std::lock_guard lock(reservations().mutex);
  reservations().by_base.emplace(begin, std::move(reservation));
  *pointer = base;
  return ZE_RESULT_SUCCESS;
}

ze_result_t VirtualMem::free(Context& context, const void* pointer, size_t size) {
  if (ze_result_t r = check_pages(pointer, size)) return r;
  uintptr_t begin = reinterpret_cast<uintptr_t>(pointer);
  std::map<uintptr_t, Reservation>::node_type gone;  // references are dropped outside the lock
  std::lock_guard lock(reservations().mutex);
  auto at = reservations().by_base.find(begin);
  if (at == reservations().by_base.end() || at->second.context.get() != &context || at->second.end != begin + size) {
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "the %zu bytes at %p are not a reservation of this context; free exactly what was reserved", size, pointer);
  }
  for (auto& [base, mapping] : at->second.mappings) {
    delist(base);
    --mapping.memory->mappings_;
  }
  munmap(const_cast<void*>(pointer), size);
  gone = reservations().by_base.extract(at);
  return ZE_RESULT_SUCCESS;
}

ze_result_t VirtualMem::queryPageSize(Context& context, Device& device, size_t, size_t* page_size) {
  if (ze_result_t r = context.require(device)) return r;
  *page_size = kPageSize;
  return ZE_RESULT_SUCCESS;
}

ze_result_t VirtualMem::map(Context& context, const void* pointer, size_t size, PhysicalMem& memory, size_t offset,
                            ze_memory_access_attribute_t access) {
  if (ze_result_t r = check_pages(pointer, size)) return r;
  if (offset % kPageSize)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "the offset (%zu) must be a multiple of the page size (%zu)", offset,
                kPageSize);
  if (&memory.context() != &context)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the physical memory belongs to another context");
  if (offset > memory.size() || size > memory.size() - offset) {
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%zu bytes at offset %zu exceed the physical memory of %zu bytes", size, offset,
                memory.size());
  }
  std::lock_guard lock(reservations().mutex);
  if (!memory.alive()) return fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "the physical memory has been destroyed");
  Reservation* reservation;
  if (ze_result_t r = look_up(context, pointer, size, &reservation)) return r;
  uintptr_t begin = reinterpret_cast<uintptr_t>(pointer), end = begin + size;
  if (overlaps(*reservation, begin, end))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "some of the %zu bytes at %p are mapped already; unmap them first", size,
                pointer);
  const Backend::Block& block = memory.block();
  if (mmap(const_cast<void*>(pointer), size, protection(access), MAP_SHARED | MAP_FIXED, block.fd,
           static_cast<off_t>(block.offset + offset)) == MAP_FAILED)
    return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "mapping %zu bytes: %s", size, std::strerror(errno));
  auto [at, added] =
      reservation->mappings.emplace(begin, MappedRange{end, Ref<PhysicalMem>(&memory), offset, Allocation::next_id()});
  ++memory.mappings_;
  enlist(begin, at->second);
  reservation->access.set(begin, end, access);
  return ZE_RESULT_SUCCESS;
}

ze_result_t VirtualMem::unmap(Context& context, const void* pointer, size_t size) {
  if (ze_result_t r = check_pages(pointer, size)) return r;
  std::vector<MappedRange> gone;  // references are dropped outside the lock
  std::lock_guard lock(reservations().mutex);
  Reservation* reservation;
  if (ze_result_t r = look_up(context, pointer, size, &reservation)) return r;
  uintptr_t begin = reinterpret_cast<uintptr_t>(pointer), end = begin + size;
  if (!overlaps(*reservation, begin, end))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "nothing is mapped in the %zu bytes at %p", size, pointer);
  if (mmap(const_cast<void*>(pointer), size, PROT_NONE, kReserveFlags | MAP_FIXED, -1, 0) == MAP_FAILED)
    return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "unmapping %zu bytes: %s", size, std::strerror(errno));
  auto& mappings = reservation->mappings;
  auto at = mappings.lower_bound(begin);
  if (at != mappings.begin() && std::prev(at)->second.end > begin) --at;
  while (at != mappings.end() && at->first < end) {
    uintptr_t base = at->first;
    MappedRange old = std::move(at->second);
    at = mappings.erase(at);
    delist(base);
    // The parts on either side stay mapped, under their old number.
    auto keep = [&](uintptr_t from, uintptr_t to) {
      if (from >= to) return;
      auto [kept, added] = mappings.emplace(from, MappedRange{to, old.memory, old.offset + (from - base), old.id});
      ++old.memory->mappings_;
      enlist(from, kept->second);
    };
    keep(base, std::min(begin, old.end));
    keep(std::max(base, end), old.end);
    --old.memory->mappings_;
    gone.push_back(std::move(old));
  }
  reservation->access.set(begin, end, ZE_MEMORY_ACCESS_ATTRIBUTE_NONE);
  return ZE_RESULT_SUCCESS;
}

ze_result_t VirtualMem::setAccessAttribute(Context& context, const void* pointer, size_t size,
                                           ze_memory_access_attribute_t access) {
  if (ze_result_t r = check_pages(pointer, size)) return r;
  std::lock_guard lock(reservations().mutex);
  Reservation* reservation;
  if (ze_result_t r = look_up(context, pointer, size, &reservation)) return r;
  uintptr_t begin = reinterpret_cast<uintptr_t>(pointer), end = begin + size;
  for (const auto& [base, mapping] : reservation->mappings) {
    const uintptr_t from = std::max(base, begin), to = std::min(mapping.end, end);
    if (from < to && mprotect(reinterpret_cast<void*>(from), to - from, protection(access)) != 0)
      return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "changing the access to %zu bytes: %s", to - from, std::strerror(errno));
  }
  reservation->access.set(begin, end, access);
  return ZE_RESULT_SUCCESS;
}

ze_result_t VirtualMem::getAccessAttribute(Context& context, const void* pointer, size_t size, ze_memory_access_attribute_t* access,
                                           size_t* run) {
  if (ze_result_t r = check_pages(pointer, size)) return r;
  std::lock_guard lock(reservations().mutex);
  Reservation* reservation;
  if (ze_result_t r = look_up(context, pointer, size, &reservation)) return r;
  uintptr_t begin = reinterpret_cast<uintptr_t>(pointer), end = begin + size;
  *access = reservation->access.at(begin);
  *run = reservation->access.end_of_run(begin, end) - begin;
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
