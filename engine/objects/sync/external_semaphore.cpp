#include "external_semaphore.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "../../abi/error.h"
#include "../../exec/descriptor_waits.h"
#include "../../system/memory_file.h"
#include "../commands/command_list_append.h"
#include "../devices/driver.h"

namespace anyzero {

namespace {

bool is_eventfd(int fd) {
  char target[32];
  return descriptor_target(fd, target, sizeof target) && std::strcmp(target, "anon_inode:[eventfd]") == 0;
}

// True for a memfd that holds a signal and cannot be truncated.
bool holds_signal(int fd) {
  struct stat file;
  if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_size < static_cast<off_t>(sizeof(Signal))) return false;
  int seals = fcntl(fd, F_GET_SEALS);
  if (seals >= 0 && !(seals & F_SEAL_SHRINK) && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0) seals |= F_SEAL_SHRINK;
  return seals >= 0 && (seals & F_SEAL_SHRINK);
}

ze_result_t refuse_list() { return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "external semaphores need an immediate command list"); }

}  // namespace

ExternalSemaphore::ExternalSemaphore(Device& device, Type type, int fd, Ref<Event> timeline)
    : device_(device), type_(type), fd_(fd), timeline_(std::move(timeline)) {}

ExternalSemaphore::~ExternalSemaphore() { close(fd_); }

ze_result_t ExternalSemaphore::import(Device& device, const ze_external_semaphore_ext_desc_t* desc,
                                      ze_external_semaphore_ext_handle_t* handle) {
  const bool binary = desc->flags == ZE_EXTERNAL_SEMAPHORE_EXT_FLAG_OPAQUE_FD;
  if (!binary && desc->flags != ZE_EXTERNAL_SEMAPHORE_EXT_FLAG_VK_TIMELINE_SEMAPHORE_FD)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION,
                "semaphores of type %#x: this device takes OPAQUE_FD (an eventfd) and VK_TIMELINE_SEMAPHORE_FD (a memfd)",
                desc->flags);
  const auto* given = find_desc<ze_external_semaphore_fd_ext_desc_t>(desc->pNext, ZE_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_FD_EXT_DESC);
  if (!given)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "pass the descriptor in a ze_external_semaphore_fd_ext_desc_t in the pNext chain");
  if (binary && !is_eventfd(given->fd))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "descriptor %d is not an eventfd, which semaphores of type OPAQUE_FD are on this device", given->fd);
  if (!binary && !holds_signal(given->fd))
    return fail(
        ZE_RESULT_ERROR_INVALID_ARGUMENT,
        "descriptor %d is not a timeline: create one with memfd_create(…, MFD_ALLOW_SEALING) and ftruncate to %zu bytes or more",
        given->fd, sizeof(Signal));
  // The program may close its descriptor.
  const int own = fcntl(given->fd, F_DUPFD_CLOEXEC, 3);
  const int mapped = binary ? -1 : fcntl(given->fd, F_DUPFD_CLOEXEC, 3);
  if (own < 0 || (!binary && mapped < 0)) {
    const int reason = errno;
    if (own >= 0) close(own);
    return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no file descriptors left: %s", std::strerror(reason));
  }
  Ref<Event> timeline = binary ? Ref<Event>() : Event::counting_over(*device.driver().default_context(), mapped);
  *handle =
      handle_of<ze_external_semaphore_ext_handle_t>(make(device, binary ? Type::Binary : Type::Timeline, own, std::move(timeline)));
  return ZE_RESULT_SUCCESS;
}

void ExternalSemaphore::signal(uint64_t value) {
  if (type_ == Type::Timeline) return timeline_->signal().raise(value);
  pollfd room{fd_, POLLOUT, 0};
  const uint64_t one = 1;
  if (poll(&room, 1, 0) == 1) [[maybe_unused]]
    ssize_t written = write(fd_, &one, sizeof one);
}

ze_result_t Device::importExternalSemaphoreExt(const ze_external_semaphore_ext_desc_t* desc,
                                               ze_external_semaphore_ext_handle_t* handle) {
  return ExternalSemaphore::import(*this, desc, handle);
}

ze_result_t Device::releaseExternalSemaphoreExt(ExternalSemaphore& semaphore) {
  semaphore.retire();
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::check_semaphores(uint32_t count, ExternalSemaphore* const* semaphores, uint32_t n,
                                          Event* const* waits) const {
  if (!immediate()) return refuse_list();
  if (count == 0 || count > kMostWaits) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "%u semaphores", count);
  bool captured = capture_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < n; ++i) captured = captured || waits[i]->capture();
  if (captured)
    return fail(ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED,
                "external semaphores cannot be captured; use them before or after the graph");
  for (uint32_t i = 0; i < count; ++i)
    if (&semaphores[i]->device().driver() != &device_.driver())
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "semaphore %u was imported for a device of another driver", i);
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::appendSignalExternalSemaphoreExt(uint32_t count, ExternalSemaphore* const* semaphores,
                                                          ze_external_semaphore_signal_params_ext_t* params, Event* signal,
                                                          uint32_t n, Event* const* waits) {
  if (ze_result_t r = check_semaphores(count, semaphores, n, waits)) return r;
  for (uint32_t i = 0; i < count; ++i)
    if (params[i].value >= Signal::kFailed)
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the value of semaphore %u is above 2^63 - 1", i);
  return append<SignalSemaphoresPacket>(kTiny * count, count * sizeof(SemaphoreUse), signal, n, waits,
                                        [&](SemaphorePacket& packet) {
                                          packet.count = count;
                                          for (uint32_t i = 0; i < count; ++i)
                                            packet.uses()[i] = {semaphores[i], params[i].value, nullptr};
                                        });
}

// A wait for a timeline is like a wait for another process's event. For an eventfd, a first command, in its order, starts to watch
// the descriptor; a second one waits for the event that this signals.
ze_result_t CommandList::appendWaitExternalSemaphoreExt(uint32_t count, ExternalSemaphore* const* semaphores,
                                                        ze_external_semaphore_wait_params_ext_t* params, Event* signal, uint32_t n,
                                                        Event* const* waits) {
  if (ze_result_t r = check_semaphores(count, semaphores, n, waits)) return r;
  std::vector<Ref<Event>> arrivals;
  std::vector<SemaphoreUse> watched;
  std::vector<Event*> all(waits, waits + n);
  for (uint32_t i = 0; i < count; ++i) {
    if (semaphores[i]->type() == ExternalSemaphore::Type::Timeline) {
      all.push_back(&semaphores[i]->timeline());
      continue;
    }
    Ref<EventPool> pool = Ref<EventPool>::adopt(EventPool::make(*context_, 0u, 1u, false));
    arrivals.push_back(Ref<Event>::adopt(Event::make(std::move(pool), 0u, 0u, 0u)));
    watched.push_back({semaphores[i], 0, arrivals.back().get()});
    all.push_back(arrivals.back().get());
  }
  if (!watched.empty()) {
    if (!start_descriptor_waits())
      return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "the system grants no thread to watch the semaphore's descriptor");
    const ze_result_t r = append<AwaitSemaphoresPacket>(kTiny * count, watched.size() * sizeof(SemaphoreUse), nullptr, n, waits,
                                                        [&](SemaphorePacket& packet) {
                                                          packet.count = watched.size();
                                                          std::copy(watched.begin(), watched.end(), packet.uses());
                                                        });
    if (r) return r;
  }
  return append<BarrierPacket>(kTiny, 0, signal, static_cast<uint32_t>(all.size()), all.data(), [&](BarrierPacket& packet) {
    for (uint32_t i = 0; i < count; ++i)
      if (semaphores[i]->type() == ExternalSemaphore::Type::Timeline) packet.waits()[n + i].point.position = params[i].value;
  });
}

}  // namespace anyzero
