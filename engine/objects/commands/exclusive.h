// Serializes calls on objects that the specification reserves for one thread at a time, also if a program breaks that rule. A list
// that a single thread records, as nearly every list, costs one check; the second thread adds a lock.
#pragma once

#include "../../abi/use.h"
#include "../../system/spinlock.h"

namespace anyzero {

class Solitude {
 public:
  Solitude() { lock_.try_lock(); }

 private:
  friend class Exclusive;
  std::atomic<bool> ending_{false};
  SpinLock lock_;  // held until the first thread is known to use the lock, too
};

class Exclusive {
 public:
  // Marks the object as used by this thread, see use.h. Without a `solitude`, for objects that allow several threads, it does
  // nothing.
  [[gnu::always_inline]] Exclusive(Header& object, Solitude* solitude) {
    if (solitude && object.user.load(std::memory_order_relaxed) != use_record) [[unlikely]]
      entered_ = enter(object, *solitude);
  }
  [[gnu::always_inline]] ~Exclusive() {
    if (entered_) [[unlikely]]
      leave(*entered_);
  }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  [[gnu::cold, gnu::noinline]] static Solitude* enter(Header& object, Solitude& solitude) {
    this_user()->waits_for.store(&object, std::memory_order_release);
    if (!solitude.ending_.load(std::memory_order_relaxed) && !solitude.ending_.exchange(true, std::memory_order_acq_rel)) {
      end_solitude(object);
      solitude.lock_.unlock();
    }
    solitude.lock_.lock();
    return &solitude;
  }
  [[gnu::cold, gnu::noinline]] static void leave(Solitude& solitude) {
    solitude.lock_.unlock();
    use_record->waits_for.store(nullptr, std::memory_order_release);
  }

  Solitude* entered_ = nullptr;
};

}  // namespace anyzero
