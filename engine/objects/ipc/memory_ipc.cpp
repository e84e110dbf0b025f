// Memory that processes share: handles, and the file descriptors behind them.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <mutex>

#include "../../abi/error.h"
#include "../devices/device.h"
#include "../memory/allocation.h"
#include "../memory/memory.h"
#include "../memory/virtual_memory.h"
#include "ipc.h"
#include "ipc_descriptor.h"

namespace anyzero {

namespace {

constexpr uint64_t kPageSize = 4096;

struct MemoryPayload {
  uint32_t type;
  uint32_t flags;
};

// Held while a block is moved or marked as exported.
Mutex& export_lock() {
  static Mutex* mutex = new Mutex;
  return *mutex;
}

using FileRange = Allocation::FileRange;

// Maps bytes of a file into the process and registers them. Adopts the descriptor, also on failure.
ze_result_t map_file(std::unique_ptr<Allocation> allocation, const FileRange& range, void** pointer) {
  uint64_t start = range.offset / kPageSize * kPageSize, inside = range.offset - start;
  size_t length = static_cast<size_t>((inside + range.size + kPageSize - 1) / kPageSize * kPageSize);
  void* mapped = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, range.fd, static_cast<off_t>(start));
  if (mapped == MAP_FAILED) {
    int reason = errno;
    close(range.fd);
    return fail(reason == ENOMEM ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY : ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "the memory cannot be mapped: %s", std::strerror(reason));
  }
  allocation->base = reinterpret_cast<uintptr_t>(mapped) + inside;
  allocation->size = range.size;
  allocation->block = {.base = mapped, .capacity = length, .fd = range.fd, .offset = start};
  void* base = reinterpret_cast<void*>(allocation->base);
  if (!Allocations::add(allocation)) {
    munmap(mapped, length);
    close(range.fd);
    return fail(ZE_RESULT_ERROR_UNKNOWN, "the system handed out %p, which is in use", base);
  }
  *pointer = base;
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t export_bytes(const FileRange& range, ze_memory_type_t type, uint32_t flags, ze_ipc_mem_handle_t* handle) {
  MemoryPayload payload{static_cast<uint32_t>(type), flags};
  return ipc_export(IpcKind::Memory, range.fd, range.offset, range.size, &payload, sizeof payload, handle->data);
}

ze_result_t lend_bytes(const FileRange& range, uint32_t type, int* fd) {
  if (type & ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF) {
    const uint64_t pages = (range.size + kPageSize - 1) / kPageSize * kPageSize;
    if (range.offset % kPageSize || range.size % kPageSize)
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                  "a DMA buffer consists of whole pages; allocate %llu bytes with an alignment of %llu to export them as one",
                  static_cast<unsigned long long>(pages), static_cast<unsigned long long>(kPageSize));
    *fd = ipc_dma_buffer(range.fd, range.offset, range.size);
    if (*fd >= 0) return ZE_RESULT_SUCCESS;
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "/dev/udmabuf cannot create a DMA buffer of the memory: %s",
                std::strerror(errno));
  }
  *fd = ipc_lend(range.fd, range.offset, range.size);
  if (*fd >= 0) return ZE_RESULT_SUCCESS;
  return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no file descriptor for the memory: %s", std::strerror(errno));
}

ze_result_t make_shareable(Allocation& allocation) {
  if (allocation.origin == Origin::System)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "imported system memory cannot be given to another process; allocate it here instead");
  const bool movable = allocation.origin == Origin::Heap || allocation.origin == Origin::Module;
  bool moved = !movable || allocation.backend->share(&allocation.block);
  if (!moved || allocation.block.fd < 0)
    return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no file descriptor or memory left to share %zu bytes", allocation.size);
  return ZE_RESULT_SUCCESS;
}

ze_result_t check_external_types(const Context& context, const Device* device, uint32_t flags, bool importing) {
  const Device& asked = device ? *device : *context.devices().front();
  auto* known = asked.properties().get<ze_device_external_memory_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_EXTERNAL_MEMORY_PROPERTIES);
  uint32_t possible = !known      ? uint32_t{ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD}
                      : importing ? known->memoryAllocationImportTypes
                                  : known->memoryAllocationExportTypes;
  if ((flags & ~possible) == 0) return ZE_RESULT_SUCCESS;
  if (!importing && (flags & ~possible) == ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
                "DMA buffers need /dev/udmabuf, which is missing or not accessible to this user; load the module udmabuf, or ask "
                "for ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD");
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION, "external memory of type %#x: the device can only %s %#x", flags,
              importing ? "import" : "export", possible);
}

ze_result_t import_descriptor(const Request& request, const ze_external_memory_import_fd_t& import, void** pointer) {
  if (ze_result_t r = check_external_types(request.context, request.device, import.flags, true)) return r;
  uint64_t offset, size;
  if (import.fd < 0 || !ipc_describe(import.fd, &offset, &size))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "descriptor %d holds no memory", import.fd);
  if (request.size > size)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "descriptor %d holds %llu bytes, fewer than the %zu asked for", import.fd,
                static_cast<unsigned long long>(size), request.size);
  // Programs close their descriptor after the call, so we keep one of our own. It shares the lock that came with it.
  int own = fcntl(import.fd, F_DUPFD_CLOEXEC, 3);
  if (own < 0) return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no file descriptors left: %s", std::strerror(errno));
  auto allocation = std::make_unique<Allocation>();
  allocation->type = request.type;
  allocation->origin = Origin::Descriptor;
  allocation->context = Ref<Context>(&request.context);
  allocation->device = request.device;
  allocation->device_flags = request.device_flags;
  allocation->host_flags = request.host_flags;
  return map_file(std::move(allocation), {own, offset, request.size}, pointer);
}

ze_result_t export_descriptor(Allocation& allocation, void* chain) {
  auto* wanted = find_property<ze_external_memory_export_fd_t>(chain, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD);
  if (!wanted) return ZE_RESULT_SUCCESS;
  if (ze_result_t r = check_external_types(*allocation.context, allocation.device, wanted->flags, false)) return r;
  std::lock_guard lock(export_lock());
  if (ze_result_t r = make_shareable(allocation)) return r;
  return lend_bytes(allocation.file_range(), wanted->flags, &wanted->fd);
}

ze_result_t Mem::getIpcHandle(Context& context, const void* pointer, ze_ipc_mem_handle_t* handle) {
  if (auto* physical = checked<PhysicalMem>(pointer)) return physical->export_handle(context, handle);
  ze_result_t result = ZE_RESULT_ERROR_INVALID_ARGUMENT;
  bool known = with_allocation(pointer, [&](Allocation& allocation) {
    if (allocation.context.get() != &context) {
      result = fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%p belongs to another context", pointer);
      return;
    }
    if (allocation.base != reinterpret_cast<uintptr_t>(pointer)) {
      result = fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%p lies inside the allocation at %#zx; share that and send the offset along",
                    pointer, static_cast<size_t>(allocation.base));
      return;
    }
    std::lock_guard lock(export_lock());
    if ((result = make_shareable(allocation))) return;
    result = export_bytes(allocation.file_range(), allocation.type, allocation.device_flags, handle);
    if (result == ZE_RESULT_SUCCESS && allocation.origin != Origin::Physical) allocation.exported = true;
  });
  return known ? result : fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%p is not an allocation of this driver", pointer);
}

ze_result_t Mem::getIpcHandleWithProperties(Context& context, const void* pointer, void* next, ze_ipc_mem_handle_t* handle) {
  auto* desc = find_desc<ze_ipc_mem_handle_type_ext_desc_t>(next, ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC);
  if (desc && (desc->typeFlags & ZE_IPC_MEM_HANDLE_TYPE_FLAG_FABRIC_ACCESSIBLE))
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "there is no fabric here; ask for ZE_IPC_MEM_HANDLE_TYPE_FLAG_DEFAULT");
  return getIpcHandle(context, pointer, handle);
}

ze_result_t Mem::putIpcHandle(Context&, ze_ipc_mem_handle_t handle) { return ipc_revoke(handle.data); }

ze_result_t Mem::openIpcHandle(Context& context, Device& device, ze_ipc_mem_handle_t handle, ze_ipc_memory_flags_t flags,
                               void** pointer) {
  if (ze_result_t r = context.require(device)) return r;
  IpcImport import;
  if (ze_result_t r = ipc_open(IpcKind::Memory, handle.data, &import)) return r;
  MemoryPayload payload;
  std::memcpy(&payload, import.payload, sizeof payload);
  if (payload.type == ZE_MEMORY_TYPE_UNKNOWN || payload.type > ZE_MEMORY_TYPE_SHARED) {
    close(import.fd);
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the handle was altered: it names no kind of memory");
  }
  auto allocation = std::make_unique<Allocation>();
  allocation->type = static_cast<ze_memory_type_t>(payload.type);
  allocation->origin = Origin::Ipc;
  allocation->context = Ref<Context>(&context);
  allocation->device = &device;
  allocation->device_flags = flags;
  return map_file(std::move(allocation), {import.fd, import.offset, import.size}, pointer);
}

ze_result_t Mem::closeIpcHandle(Context& context, const void* pointer) {
  auto allocation = Allocations::take(
      pointer, [&](Allocation& candidate) { return candidate.origin == Origin::Ipc && candidate.context.get() == &context; });
  if (!allocation) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%p was not opened from a handle in this context", pointer);
  discard(std::move(allocation));
  return ZE_RESULT_SUCCESS;
}

ze_result_t Mem::getIpcHandleFromFileDescriptorExp(Context&, uint64_t descriptor, ze_ipc_mem_handle_t* handle) {
  uint64_t offset, size;
  if (descriptor > INT_MAX || !ipc_describe(static_cast<int>(descriptor), &offset, &size))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "descriptor %lld holds no memory", static_cast<long long>(descriptor));
  // The program may close its descriptor while the handle is under way.
  int own = fcntl(static_cast<int>(descriptor), F_DUPFD_CLOEXEC, 3);
  if (own < 0) return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no file descriptors left: %s", std::strerror(errno));
  MemoryPayload payload{ZE_MEMORY_TYPE_DEVICE, 0};
  ze_result_t result = ipc_export(IpcKind::Memory, own, offset, size, &payload, sizeof payload, handle->data, true);
  if (result) close(own);
  return result;
}

ze_result_t Mem::getFileDescriptorFromIpcHandleExp(Context&, ze_ipc_mem_handle_t handle, uint64_t* descriptor) {
  int fd;
  if (ze_result_t r = ipc_descriptor_of(IpcKind::Memory, handle.data, &fd)) return r;
  *descriptor = static_cast<uint64_t>(fd);
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
