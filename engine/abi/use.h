// Tracks the objects that each thread is inside of, so that an object destroyed by one thread stays alive until the others have
// left it.
//
// The specification leaves this to the program; a program that gets it wrong must see an error, not a crash. Threads publish the
// objects they use by plain stores to a record of their own, which cost next to nothing. The destroying thread pays: membarrier
// makes every processor finish its stores, then all records are scanned. If only one thread has ever used the object and destroys
// it, neither is needed.
#pragma once

#include <atomic>
#include <cstdint>

#include "object.h"

namespace anyzero {

// One per thread. Never freed; the record of an ended thread is reused by a new one.
struct alignas(64) UseRecord {
  static constexpr uint32_t kPlaces = 3;
  std::atomic<const Header*> used[kPlaces] = {};
  std::atomic<const Header*> waits_for{nullptr};  // used, but still waiting for its turn: see Exclusive
  std::atomic<bool> owes{false};                  // another thread waits for this one to leave
  UseRecord* next = nullptr;
};

// constinit: otherwise every access first checks for a dynamic initializer.
extern constinit thread_local UseRecord* use_record __attribute__((tls_model("initial-exec")));
[[gnu::cold]] UseRecord* introduce_user();
inline UseRecord* this_user() {
  UseRecord* known = use_record;
  return known ? known : introduce_user();
}

// Records that another thread than before uses the object.
[[gnu::cold]] void note_user(Header& object, UseRecord& user);
// Called when a destroying thread waited for this thread to leave an object.
[[gnu::cold]] void let_go_of_destroyed();
// Makes earlier stores of all other threads of the process visible, and ours visible to them.
void barrier_everywhere();
// Waits until no other thread is inside the object, except those that wait for their turn. From then on no thread treats itself as
// the only user.
void end_solitude(Header& object);

// Keeps a handle's object alive for its own lifetime, if the object was alive at the start. Each object of a call has its own
// place; the first is left last. Always inlined, error paths included: one call of the destructor would keep all of it in memory
// instead of registers.
template <class T, uint32_t Place = 0>
class Using {
 public:
  [[gnu::always_inline]] explicit Using(const void* handle) {
    if (!SlotRange::contains(handle)) [[unlikely]]
      return;
    user_ = this_user();
    auto* header = static_cast<Header*>(const_cast<void*>(handle));
    outer_ = user_->used[Place].load(std::memory_order_relaxed);  // of the enclosing call
    user_->used[Place].store(header, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // The tag is checked first: memory that is no object of this kind must not be written to.
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
