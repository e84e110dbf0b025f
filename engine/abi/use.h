// The objects that each thread is inside of, so that an object that one thread destroys stays until the others have left it.
//
// The specification leaves that to the program; a program that gets it wrong is to see an error, not a crash. Threads say what they
// use by plain stores to a record of their own, which cost next to nothing. The thread that destroys an object pays: the system
// makes every processor finish its stores (membarrier), then all records are looked at. Where only one thread has ever used an
// object, and destroys it, not even that is needed.
#pragma once

#include <atomic>
#include <cstdint>

#include "object.h"

namespace anyzero {

// One per thread. Never freed; one whose thread is gone serves the next new thread.
struct alignas(64) UseRecord {
  static constexpr uint32_t kPlaces = 3;
  std::atomic<const Header*> used[kPlaces] = {};
  std::atomic<const Header*> waits_for{nullptr};  // used, but its turn has not come: see Exclusive
  std::atomic<bool> owes{false};                  // another thread waits for this one to leave
  UseRecord* next = nullptr;
};

// constinit: without it every look first asks whether there is something to initialize.
extern constinit thread_local UseRecord* use_record __attribute__((tls_model("initial-exec")));
[[gnu::cold]] UseRecord* introduce_user();
inline UseRecord* this_user() {
  UseRecord* known = use_record;
  return known ? known : introduce_user();
}

// Another thread than before uses the object.
[[gnu::cold]] void note_user(Header& object, UseRecord& user);
// Somebody waited for this thread to leave an object.
[[gnu::cold]] void let_go_of_destroyed();
// Every other thread of the process has made its earlier stores visible, and sees ours.
void barrier_everywhere();
// Waits until no other thread is inside of the object, but for those that wait for their turn. From here on none takes itself for
// the only user.
void end_solitude(Header& object);

// As long as it lives, a handle's object does, if it was alive at the beginning. Each object of a call has a place of its own; the
// first is the last to be left. Always inlined, error paths included: one call of the destructor would keep all of it in memory
// instead of registers.
template <class T, uint32_t Place = 0>
class Using {
 public:
  [[gnu::always_inline]] explicit Using(const void* handle) {
    if (!SlotRange::contains(handle)) [[unlikely]]
      return;
    user_ = this_user();
    auto* header = static_cast<Header*>(const_cast<void*>(handle));
    outer_ = user_->used[Place].load(std::memory_order_relaxed);  // of a call that this one is inside of
    user_->used[Place].store(header, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // The tag first: what is no object of this kind is not to be written to.
    if (header->tag.load(std::memory_order_acquire) != T::kTag) [[unlikely]]
      return;
    if (header->user.load(std::memory_order_relaxed) != user_) [[unlikely]] {
      note_user(*header, *user_);
      if (header->tag.load(std::memory_order_acquire) != T::kTag) return;
    }
    object_ = static_cast<T*>(header);
  }
  [[gnu::always_inline]] ~Using() {
    if (!user_) [[unlikely]]
      return;
    user_->used[Place].store(outer_, std::memory_order_release);
    if constexpr (Place == 0) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (user_->owes.load(std::memory_order_relaxed)) [[unlikely]]
        let_go_of_destroyed();
    }
  }
  Using(const Using&) = delete;
  Using& operator=(const Using&) = delete;

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  static_assert(Place < UseRecord::kPlaces);
  T* object_ = nullptr;
  UseRecord* user_ = nullptr;
  const Header* outer_ = nullptr;
};

}  // namespace anyzero
