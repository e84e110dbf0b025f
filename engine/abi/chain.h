// Walks pNext chains. Programs leave a pNext uninitialised if their version of a structure had no use for it, so a chain ends at an
// address that cannot be a structure, and at a cycle.
#pragma once

#include <cstdint>
#include <cstring>

#include "gen/ze_api.h"

namespace anyzero {

// True if the head of a structure is readable at this address. It costs a system call.
bool readable(const ze_base_desc_t* structure);

// The structure type. An uninitialised pNext can give any number, so it need not be a value of the enumeration.
inline uint32_t type_of(const ze_base_desc_t& structure) {
  uint32_t type;
  std::memcpy(&type, &structure.stype, sizeof type);
  return type;
}

// `for (const ze_base_desc_t& each : Chain(pNext))`
class Chain {
 public:
  // In the chain of an append, unreadable memory is the program's own error: a system call would cost too much there.
  enum class Check : bool { Readable, Aligned };

  explicit Chain(const void* first, Check check = Check::Readable)
      : first_(static_cast<const ze_base_desc_t*>(first)), check_(check) {}

  struct End {};

  class Iterator {
   public:
    Iterator(const ze_base_desc_t* first, Check check) : mark_(first), check_(check) { step_to(first); }
    const ze_base_desc_t& operator*() const { return *at_; }
    bool operator!=(End) const { return at_ != nullptr; }
    void operator++() {
      step_to(static_cast<const ze_base_desc_t*>(at_->pNext));
      // Brent's cycle detection: in a cycle the walk returns to its last mark, because the distance between marks keeps growing.
      if (at_ == mark_) {
        at_ = nullptr;
      } else if (++steps_ == until_mark_) {
        mark_ = at_;
        steps_ = 0;
        until_mark_ *= 2;
      }
    }

   private:
    void step_to(const ze_base_desc_t* next) {
      const bool aligned = reinterpret_cast<uintptr_t>(next) % alignof(ze_base_desc_t) == 0;
      at_ = next && aligned && (check_ == Check::Aligned || readable(next)) ? next : nullptr;
    }

    const ze_base_desc_t* at_ = nullptr;
    const ze_base_desc_t* mark_;
    uint64_t steps_ = 0;
    uint64_t until_mark_ = 1;
    Check check_;
  };

  Iterator begin() const { return {first_, check_}; }
  End end() const { return {}; }

 private:
  const ze_base_desc_t* first_;
  Check check_;
};

// The first structure of type `stype` in a chain, or nullptr.
inline const void* find_next(const void* chain, uint32_t stype) {
  for (const ze_base_desc_t& each : Chain(chain))
    if (type_of(each) == stype) return &each;
  return nullptr;
}

template <class T>
inline const T* find_desc(const void* chain, ze_structure_type_t stype) {
  return static_cast<const T*>(find_next(chain, stype));
}

template <class T>
inline T* find_property(void* chain, ze_structure_type_t stype) {
  return static_cast<T*>(const_cast<void*>(find_next(chain, stype)));
}

}  // namespace anyzero
