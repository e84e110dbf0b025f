#include "descriptor_waits.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <new>
#include <vector>

#include "../objects/sync/event.h"
#include "../system/descriptor.h"
#include "../system/mutex.h"
#include "../system/thread.h"

namespace anyzero {

namespace {

struct Wait {
  int fd;  // its own
  Ref<Event> event;
};

struct Waits {
  Mutex mutex;
  std::vector<Wait> arrived;  // not yet seen by the thread
  int bell = -1;
  bool started = false;
};

Waits* waits = new Waits;  // leaked: the thread outlives everything

// True when the descriptor's count was read. Another thread, in any process, may have read it first.
bool take(int fd) {
  uint64_t held;
  iovec room{&held, sizeof held};
  ssize_t got = preadv2(fd, &room, 1, -1, RWF_NOWAIT);
  // Linux before 5.8 has no RWF_NOWAIT for eventfds; poll has just reported that it is readable.
  if (got < 0 && errno == EOPNOTSUPP) got = read(fd, &held, sizeof held);
  return got == sizeof held;
}

void* run(void*) {
  std::vector<Wait> pending;
  std::vector<pollfd> polled;
  for (;;) {
    {
      std::lock_guard lock(waits->mutex);
      for (Wait& wait : waits->arrived) pending.push_back(std::move(wait));
      waits->arrived.clear();
    }
    polled.assign(1, {waits->bell, POLLIN, 0});
    for (const Wait& wait : pending) polled.push_back({wait.fd, POLLIN, 0});
    // Often enough to find waits whose rings are gone.
    constexpr int kNowAndThen = 1000;
    if (poll(polled.data(), polled.size(), pending.empty() ? -1 : kNowAndThen) < 0 && errno != EINTR) continue;
    if (polled[0].revents) take(waits->bell);
    for (size_t i = pending.size(); i-- > 0;) {
      Wait& wait = pending[i];
      const bool alone = wait.event->users.load(std::memory_order_acquire) == 1;
      const short seen = polled[i + 1].revents;
      if (!alone && !(seen & POLLIN) && !(seen & (POLLNVAL | POLLERR))) continue;
      if (!alone && (seen & POLLIN) && !take(wait.fd)) continue;
      if (!alone) wait.event->complete(0);
      close(wait.fd);
      pending.erase(pending.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  return nullptr;
}

}  // namespace

bool start_descriptor_waits() {
  static std::once_flag once;
  // In a forked child: the waits belong to the parent, and its thread does not exist here.
  std::call_once(once, [] { at_fork_child([] { waits = new Waits; }); });
  std::lock_guard lock(waits->mutex);
  if (waits->started) return true;
  if (waits->bell < 0) waits->bell = behind_streams(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  waits->started = waits->bell >= 0 && start_thread(run, nullptr, "az-waits");
  return waits->started;
}

void signal_when_readable(int fd, Event& event) {
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  // Without a descriptor the wait fails, and so do the commands that wait for the event.
  if (own < 0) return event.forsake();
  {
    std::lock_guard lock(waits->mutex);
    waits->arrived.push_back({own, Ref<Event>(&event)});
  }
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t rung = write(waits->bell, &one, sizeof one);
}

}  // namespace anyzero
