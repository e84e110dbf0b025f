// The machine code of one kernel, loaded and ready to run.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "container.h"
#include "debugger.h"
#include "elf_object.h"
#include "improvement.h"
#include "offered.h"
#include "pace.h"
#include "turns.h"

namespace anyzero {

// A module's program-scope variables: their address, and the object that keeps them alive.
struct GlobalBlock {
  uintptr_t address = 0;
  std::shared_ptr<const void> owner;
};

// As the function ROW_LENGTHS of compiled code stores them.
struct RowLengths {
  uint64_t length;
  uint64_t items;
};

// Threading: immutable, except for its measured speed and for better code that replaces it later; any thread may hold it. Packets
// hold it while they may still run.
class Code {
 public:
  // Finds the variables of a linked module by its plan; false if there is none of that number.
  using FindLinked = std::function<bool(uint64_t plan, GlobalBlock* block)>;

  // nullptr with a reason if the container cannot be read or its object cannot be loaded.
  static Code* load(std::vector<unsigned char> container, const GlobalBlock& globals, const FindLinked& linked,
                    std::string* reason);

  void retain() { users_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  const KernelFacts& facts() const { return facts_; }
  // From 1; no other code of the process gets it.
  uint64_t number() const { return number_; }
  Entry entry() const { return reinterpret_cast<Entry>(object_->function(0)); }
  uintptr_t address() const { return object_->function(0); }
  // The relocatable object it was loaded from.
  std::string_view binary() const { return binary_; }

  // The code that a launch runs: this, or better code that has replaced it. Both live as long as this does, because launches of
  // either may be running.
  Code& current() {
    Code* better = better_.load(std::memory_order_acquire);
    return better ? *better : *this;
  }
  const Code& current() const { return const_cast<Code*>(this)->current(); }
  // The same for a launch with groups of this size, for which there may be special code.
  Code& current_for(const uint32_t* group_size) {
    if (improvements_ && improvements_->fits)
      if (Code* fitting = improvements_->fitting(group_size)) return *fitting;
    return current();
  }
  const Code& current_for(const uint32_t* group_size) const { return const_cast<Code*>(this)->current_for(group_size); }

  // Allows better code to be compiled: final code if this is of the first stage, and code for groups of one size if `fits`. Called
  // before other threads see this object.
  void may_improve(std::shared_ptr<const std::string> build, bool provisional = true, bool fits = false) {
    improvements_ = std::make_unique<Improvements>(*this, std::move(build), provisional, fits);
  }
  // nullptr if there is no better code.
  Improvements* improvements() { return improvements_.get(); }
  const GlobalBlock& globals() const { return globals_[0]; }
  // Adds the working time of a launch with groups of this size.
  void note_work(uint64_t nanoseconds, const uint32_t* group_size) {
    if (improvements_) improvements_->note_work(nanoseconds, group_size);
  }
  // Both adopt `better` and a reference to it. They return false without a change if it is not the same kernel to its callers, or
  // comes too late. The second one is for launches with groups of one size.
  bool publish(Code* better);
  bool publish_for(Improvement& size, Code* better);

  // The offset of an instruction in the code, and the code that contains it: this, or code that replaced it. False for others.
  bool offset_of(uintptr_t instruction, size_t* offset, const Code** holder = nullptr) const;

  // The machine code, where it lies.
  std::string_view text() const { return {reinterpret_cast<const char*>(object_->text()), object_->text_bytes()}; }
  // In the profile that is made, to which it is added by the first to ask; 0 where there is none.
  uint32_t number_in_profile() const;

  // True for an address in the code or in the constants beside it.
  bool holds(uintptr_t address) const;

  // For groups of this size, or blocks of a kernel that does not use its groups.
  uint64_t scratch_bytes(const uint64_t* group_size) const {
    if (!facts_.scratch_per_vector) return facts_.scratch_fixed;
    const uint64_t vectors = (group_size[0] + facts_.lanes - 1) / facts_.lanes * group_size[1] * group_size[2];
    return facts_.scratch_fixed + facts_.scratch_per_vector * vectors;
  }

  // True if it may spin until the host or other work-items write memory, so that its time cannot be measured.
  bool may_wait() const { return facts_.flags & KernelFlag::kWaits; }

  // True if such a launch is known to end, because its trip counts are those of an earlier launch that ended; and to end soon.
  bool ends(const TurnsSource& launch) const { return knows(ended_, launch); }
  bool ends_soon(const TurnsSource& launch) const { return knows(soon_, launch); }
  void learn_end(const TurnsSource& launch, uint64_t nanoseconds) {
    if (!(facts_.flags & KernelFlag::kTurnsByArguments)) return;
    constexpr uint64_t kSoon = 100'000;
    const uint64_t mark = mark_of(launch);
    ended_.learn(mark);
    if (nanoseconds <= kSoon) soon_.learn(mark);
  }

  // True if it was compiled with bounds checks.
  bool watched() const { return facts_.flags & (KernelFlag::kChecked | KernelFlag::kNoted); }
  bool noted() const { return facts_.flags & KernelFlag::kNoted; }
  bool checked() const { return facts_.flags & KernelFlag::kChecked; }
  // If it was: the words of its arguments that may be addresses.
  const std::vector<uint16_t>& address_words() const { return address_words_; }
  // True if it does not use its groups, so that the engine may choose them.
  bool flat() const { return facts_.flags & KernelFlag::kFlat; }
  bool shares_rows() const { return facts_.flags & KernelFlag::kSharesRows; }
  bool short_elements() const { return facts_.flags & KernelFlag::kShortElements; }
  uint32_t lanes() const { return facts_.lanes; }
  // True if it has a version for unaliased launches.
  bool has_unaliased_version() const { return !facts_.separate_writes.empty(); }
  // True if it has a version for launches that are cut into rows.
  bool has_version_for_rows() const { return facts_.flags & KernelFlag::kDividesIds; }
  // Those rows for these arguments: zeros for numbers that are not positive or do not fit in an int. The number of elements is
  // left alone where the kernel does not tell it.
  void find_rows(const void* args, RowLengths* rows) const {
    reinterpret_cast<void (*)(const void*, RowLengths*)>(object_->function(1))(args, rows);
  }
  // The dimension along which lanes should be neighbours.
  unsigned lane_dimension() const {
    return facts_.flags & KernelFlag::kLanesAlongY ? 1 : facts_.flags & KernelFlag::kLanesAlongZ ? 2 : 0;
  }

  // Picoseconds of a work-item; 0 until it has run, and always if it may wait.
  uint64_t pace() const { return pace_.value(); }
  // True if a run need not be measured.
  bool pace_known() const { return pace() && pace_.settled(); }
  void learn_pace(uint64_t picoseconds) {
    if (!may_wait()) pace_.learn(picoseconds);
  }

 private:
  Code() = default;
  ~Code();
  // The first of this and its replacements that the predicate accepts; nullptr if none.
  template <typename Wanted>
  const Code* find(Wanted wanted) const;
  void show_to_debuggers();
  // Adopts `better` and a reference to it, if it is the same kernel to its callers.
  bool publish_at(std::atomic<Code*>& place, Code* better, bool same);

  bool knows(const KnownTurns& known, const TurnsSource& launch) const {
    if (facts_.flags & KernelFlag::kConstantTurns) return true;
    return (facts_.flags & KernelFlag::kTurnsByArguments) && known.contains(mark_of(launch));
  }
  uint64_t mark_of(const TurnsSource& launch) const;

  static uint64_t next_number() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }

  std::atomic<uint32_t> users_{1};
  const uint64_t number_ = next_number();
  mutable std::atomic<uint64_t> profiled_{0};  // the number of a profile in the high half, and this code's number in it
  Pace pace_;
  KnownTurns ended_, soon_;
  KernelFacts facts_;
  std::vector<uint16_t> address_words_;
  std::vector<unsigned char> container_;
  std::string_view binary_;
  std::vector<GlobalBlock> globals_;  // its own module's, then those of linked modules
  std::unique_ptr<LoadedObject> object_;
  std::unique_ptr<DebuggerEntry> debugger_entry_;  // destroyed before the code
  std::unique_ptr<Improvements> improvements_;
  std::atomic<Code*> better_{nullptr};
};

}  // namespace anyzero
