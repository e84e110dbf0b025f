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

// A module's program-scope variables: where they lie, and what keeps them there.
struct GlobalBlock {
  uintptr_t address = 0;
  std::shared_ptr<const void> owner;
};

// Threading: immutable but for what it learns about its own speed, and for better code that comes to it later; any thread may hold
// it. Packets do while they may still run.
class Code {
 public:
  // The variables of a module that this one is linked with, by its plan; false when there is none of that number.
  using FindLinked = std::function<bool(uint64_t plan, GlobalBlock* block)>;

  // nullptr with a reason when the container cannot be read or its object cannot be loaded.
  static Code* load(std::vector<unsigned char> container, const GlobalBlock& globals, const FindLinked& linked,
                    std::string* reason);

  void retain() { users_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  const KernelFacts& facts() const { return facts_; }
  Entry entry() const { return reinterpret_cast<Entry>(object_->entry()); }
  uintptr_t address() const { return object_->entry(); }
  // The relocatable object it was loaded from.
  std::string_view binary() const { return binary_; }

  // What a launch runs: this, or the better code that has come in its place. All of it stays as long as this does, because launches
  // of either may be under way.
  Code& current() {
    Code* better = better_.load(std::memory_order_acquire);
    return better ? *better : *this;
  }
  const Code& current() const { return const_cast<Code*>(this)->current(); }
  // The same for a launch with groups of this size, for which there may be code of its own.
  Code& current_for(const uint32_t* group_size) {
    if (improvements_ && improvements_->fits)
      if (Code* fitting = improvements_->fitting(group_size)) return *fitting;
    return current();
  }
  const Code& current_for(const uint32_t* group_size) const { return const_cast<Code*>(this)->current_for(group_size); }

  // Better code can be compiled: final code where this is of the first stage, and code for groups of one size where `fits`. Call it
  // before other threads see this one.
  void may_improve(std::shared_ptr<const std::string> build, bool provisional = true, bool fits = false) {
    improvements_ = std::make_unique<Improvements>(*this, std::move(build), provisional, fits);
  }
  // nullptr where this is as good as it gets.
  Improvements* improvements() { return improvements_.get(); }
  const GlobalBlock& globals() const { return globals_[0]; }
  // A launch with groups of this size has worked for so long.
  void note_work(uint64_t nanoseconds, const uint32_t* group_size) {
    if (improvements_) improvements_->note_work(nanoseconds, group_size);
  }
  // Both take over `better` and its user. False, and nothing changes, where it is not the same kernel to its callers, or comes too
  // late. The second one is for launches with groups of one size.
  bool publish(Code* better);
  bool publish_for(Improvement& size, Code* better);

  // Where in the code an instruction lies, and whether in this or in code that has come in its place; false when it lies elsewhere.
  bool offset_of(uintptr_t instruction, size_t* offset, const Code** holder = nullptr) const;

  // The machine code, where it lies.
  std::string_view text() const { return {reinterpret_cast<const char*>(object_->text()), object_->text_bytes()}; }
  // In the profile that is made, to which it is added by the first to ask; 0 where there is none.
  uint32_t number_in_profile() const;

  // True for an address in the code or in the constants beside it.
  bool holds(uintptr_t address) const;

  // For groups of this size, or blocks of a kernel that does not know its groups.
  uint64_t scratch_bytes(const uint64_t* group_size) const {
    if (!facts_.scratch_per_vector) return facts_.scratch_fixed;
    const uint64_t vectors = (group_size[0] + facts_.lanes - 1) / facts_.lanes * group_size[1] * group_size[2];
    return facts_.scratch_fixed + facts_.scratch_per_vector * vectors;
  }

  // True when it may wait for memory that others, the host among them, write while it runs: its time cannot be measured.
  bool may_wait() const { return facts_.flags & KernelFlag::kWaits; }

  // Whether such a launch is known to end, because its loops turn as often as in an earlier launch that did; and to end soon.
  bool ends(const TurnsSource& launch) const { return knows(ended_, launch); }
  bool ends_soon(const TurnsSource& launch) const { return knows(soon_, launch); }
  void learn_end(const TurnsSource& launch, uint64_t nanoseconds) {
    if (!(facts_.flags & KernelFlag::kTurnsByArguments)) return;
    constexpr uint64_t kSoon = 100'000;
    const uint64_t mark = mark_of(launch);
    ended_.learn(mark);
    if (nanoseconds <= kSoon) soon_.learn(mark);
  }

  // True when it compares its accesses with the bounds of memory.
  bool watched() const { return facts_.flags & (KernelFlag::kChecked | KernelFlag::kNoted); }
  bool noted() const { return facts_.flags & KernelFlag::kNoted; }
  bool checked() const { return facts_.flags & KernelFlag::kChecked; }
  // True when it knows nothing of its groups, so that it may run in others.
  bool flat() const { return facts_.flags & KernelFlag::kFlat; }
  bool shares_rows() const { return facts_.flags & KernelFlag::kSharesRows; }

  // Picoseconds a work-item takes; 0 until it has run, and for ever where it may wait.
  uint64_t pace() const { return pace_.value(); }
  // True when a run need not be measured.
  bool pace_known() const { return pace() && pace_.settled(); }
  void learn_pace(uint64_t picoseconds) {
    if (!may_wait()) pace_.learn(picoseconds);
  }

 private:
  Code() = default;
  ~Code();
  // This and all code that has come in its place, until one of them is the one; nullptr where none is.
  template <typename Wanted>
  const Code* find(Wanted wanted) const;
  void show_to_debuggers();
  // Takes over `better` and its user, where it is the same kernel to its callers.
  bool publish_at(std::atomic<Code*>& place, Code* better, bool same);

  bool knows(const KnownTurns& known, const TurnsSource& launch) const {
    if (facts_.flags & KernelFlag::kConstantTurns) return true;
    return (facts_.flags & KernelFlag::kTurnsByArguments) && known.contains(mark_of(launch));
  }
  uint64_t mark_of(const TurnsSource& launch) const;

  std::atomic<uint32_t> users_{1};
  mutable std::atomic<uint64_t> profiled_{0};  // the number of a profile in the high half, and this code's number in it
  Pace pace_;
  KnownTurns ended_, soon_;
  KernelFacts facts_;
  std::vector<unsigned char> container_;
  std::string_view binary_;
  std::vector<GlobalBlock> globals_;  // its own module's, then those of linked modules
  std::unique_ptr<LoadedObject> object_;
  std::unique_ptr<DebuggerEntry> debugger_entry_;  // before the code goes
  std::unique_ptr<Improvements> improvements_;
  std::atomic<Code*> better_{nullptr};
};

}  // namespace anyzero
