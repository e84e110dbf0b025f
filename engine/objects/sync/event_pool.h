// Event pools: the memory of events, which other processes may map.
#pragma once

#include <atomic>
#include <memory>

#include "../../abi/handle.h"
#include "../../system/signal.h"
#include "../devices/context.h"

namespace anyzero {

// Threading: any thread.
class EventPool : public Object<EventPool, Kind::EventPool> {
 public:
  static ze_result_t create(Context& context, const ze_event_pool_desc_t* desc, uint32_t count, Device* const* devices,
                            ze_event_pool_handle_t* handle);
  ze_result_t destroy();
  ze_result_t getIpcHandle(ze_ipc_event_pool_handle_t* handle);
  static ze_result_t putIpcHandle(Context& context, ze_ipc_event_pool_handle_t handle);
  static ze_result_t openIpcHandle(Context& context, ze_ipc_event_pool_handle_t ipc, ze_event_pool_handle_t* handle);
  ze_result_t closeIpcHandle();
  ze_result_t getContextHandle(ze_context_handle_t* handle);
  ze_result_t getFlags(ze_event_pool_flags_t* flags);

  Context& context() const { return *context_; }
  uint32_t flags() const { return flags_; }
  uint32_t count() const { return count_; }
  bool counts() const { return counts_; }
  int fd() const { return fd_; }

  // The signal at `index` of a shared pool; another process may have signalled it already. nullptr in other pools, where each event
  // has a signal of its own, so that pending commands of an earlier event at that index cannot change it.
  Signal* take(uint32_t index);
  void give_back(uint32_t index);

  // A shared pool's signals are in a memfd: a new one, or (fd >= 0) another process's, whose descriptor the pool adopts.
  EventPool(Context& context, uint32_t flags, uint32_t count, bool counts, int fd = -1);
  ~EventPool();

 private:
  Ref<Context> context_;
  uint32_t flags_;
  uint32_t count_;
  bool counts_;
  bool imported_;
  int fd_ = -1;
  Signal* signals_ = nullptr;
  std::unique_ptr<std::atomic<uint32_t>[]> taken_;  // by index: live handles of this process, in a shared pool
};

}  // namespace anyzero
