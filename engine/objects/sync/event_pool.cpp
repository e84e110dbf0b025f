#include "event_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "../../abi/error.h"
#include "../../system/memory_file.h"
#include "../devices/device.h"
#include "../devices/driver.h"
#include "../ipc/ipc.h"

namespace anyzero {

namespace {

// The contents of an exported pool's handle.
struct PoolPayload {
  uint32_t flags;
  uint32_t count;
};

constexpr uint32_t kMostEvents = 1u << 24;

size_t bytes_for(uint32_t count) { return (size_t{count} * sizeof(Signal) + 4095) / 4096 * 4096; }

}  // namespace

EventPool::EventPool(Context& context, uint32_t flags, uint32_t count, bool counts, int fd)
    : context_(&context), flags_(flags), count_(count), counts_(counts), imported_(fd >= 0), fd_(fd) {
  if (!imported_ && !(flags & ZE_EVENT_POOL_FLAG_IPC)) return;
  if (fd_ < 0) fd_ = memory_file(bytes_for(count));
  if (fd_ < 0) throw std::bad_alloc();
  void* memory = mmap(nullptr, bytes_for(count), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) {
    ::close(fd_);
    throw std::bad_alloc();
  }
  signals_ = static_cast<Signal*>(memory);
  taken_.reset(new std::atomic<uint32_t>[count]());
}

EventPool::~EventPool() {
  if (!signals_) return;
  munmap(signals_, bytes_for(count_));
  if (!imported_) ipc_revoke_fd(fd_, 0);
  ::close(fd_);
}

Signal* EventPool::take(uint32_t index) {
  if (!signals_) return nullptr;
  taken_[index].fetch_add(1, std::memory_order_acq_rel);
  return &signals_[index];
}

void EventPool::give_back(uint32_t index) {
  if (signals_ && taken_[index].fetch_sub(1, std::memory_order_acq_rel) == 1 && !imported_) signals_[index].reset();
}

ze_result_t EventPool::create(Context& context, const ze_event_pool_desc_t* desc, uint32_t count, Device* const* devices,
                              ze_event_pool_handle_t* handle) {
  for (uint32_t i = 0; i < count; ++i)
    if (ze_result_t r = context.require(*devices[i])) return r;
  constexpr uint32_t kBoth = ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP;
  if ((desc->flags & kBoth) == kBoth)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "kernel timestamps are either plain or mapped to host time, not both");
  if (desc->count > kMostEvents)
    return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "a pool of %u events: at most %u", desc->count, kMostEvents);
  bool counts = find_next(desc->pNext, ZE_STRUCTURE_TYPE_COUNTER_BASED_EVENT_POOL_EXP_DESC) != nullptr;
  if (counts && (desc->flags & ZE_EVENT_POOL_FLAG_IPC))
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                "a pool of counter-based events cannot be shared; create such events one by one with zeEventCounterBasedCreate");
  *handle = handle_of<ze_event_pool_handle_t>(make(context, desc->flags, desc->count, counts));
  return ZE_RESULT_SUCCESS;
}

ze_result_t EventPool::destroy() {
  retire();
  return ZE_RESULT_SUCCESS;
}

ze_result_t EventPool::getIpcHandle(ze_ipc_event_pool_handle_t* handle) {
  if (!(flags_ & ZE_EVENT_POOL_FLAG_IPC))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "create the pool with ZE_EVENT_POOL_FLAG_IPC to share it");
  PoolPayload payload{flags_, count_};
  return ipc_export(IpcKind::EventPool, fd_, 0, bytes_for(count_), &payload, sizeof payload, handle->data);
}

ze_result_t EventPool::putIpcHandle(Context&, ze_ipc_event_pool_handle_t handle) { return ipc_revoke(handle.data); }

ze_result_t EventPool::openIpcHandle(Context& context, ze_ipc_event_pool_handle_t ipc, ze_event_pool_handle_t* handle) {
  IpcImport import;
  if (ze_result_t r = ipc_open(IpcKind::EventPool, ipc.data, &import)) return r;
  PoolPayload payload;
  std::memcpy(&payload, import.payload, sizeof payload);
  if (payload.count == 0 || payload.count > kMostEvents || import.size != bytes_for(payload.count)) {
    ::close(import.fd);
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the IPC handle does not describe an event pool");
  }
  *handle = handle_of<ze_event_pool_handle_t>(make(context, payload.flags, payload.count, false, import.fd));
  return ZE_RESULT_SUCCESS;
}

ze_result_t EventPool::closeIpcHandle() {
  if (!imported_) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "this pool was created here, not opened; destroy it instead");
  retire();
  return ZE_RESULT_SUCCESS;
}

ze_result_t EventPool::getContextHandle(ze_context_handle_t* handle) {
  *handle = handle_of<ze_context_handle_t>(context_.get());
  return ZE_RESULT_SUCCESS;
}

ze_result_t EventPool::getFlags(ze_event_pool_flags_t* flags) {
  *flags = flags_;
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
