// Commands that are held back until the program may look at their results, and the protected pages of these: see early_reads.h.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../exec/ring.h"
#include "../exec/trap.h"
#include "early_reads.h"
#include "interrupted_code.h"

namespace anyzero {

struct Pages {
  uintptr_t begin, end;
  bool contains(uintptr_t address) const { return begin <= address && address < end; }
};

struct Protected {
  Pages pages;
  CommandName command;
  Ring* ring;
  uint64_t until;  // its commands
  bool on = false;
};

struct HeldRing {
  Ring* ring;  // retained
  uint64_t from, until;
};

// An access of the program before the command was done.
struct Touch {
  uintptr_t address = 0;
  InterruptedCode code;
  bool writes = false;
  CommandName command;
  Ring* ring = nullptr;  // retained
  uint64_t until = 0;
  uint64_t given_up = 0;  // when nothing will be said of it any more
  size_t size = 0;
  unsigned char before[8] = {};
};

struct SubmittingThread {
  pid_t thread = 0;
  uint64_t begin = 0, last = 0;  // its processor time then, and at the last look
};

// Accesses that nothing is said of yet.
inline constinit std::atomic<size_t> pending_touches{0};
// Rung when somebody has to look: commands are held, or a result was touched.
inline constinit std::atomic<uint32_t> held_doorbell{0};

// Threading: its owner has a lock. A thread that faults never holds it: nothing here touches memory of the program that may be
// protected.
class HeldCommands {
 public:
  using Rings = std::vector<HeldRing>;

  // Commands from `before` to `until` are being submitted.
  void hold(Ring& ring, uint64_t before, uint64_t until, const std::vector<AwaitedResult>& results);
  // The submission is complete, and its commands have run if they could within the call.
  Rings submitted(Ring& ring);
  // Makes all pages accessible, and takes the rings out. They are to be let go outside of the lock.
  Rings take();
  // The same if their time is over, or a result was touched.
  Rings take_due();
  uint64_t until_next_look() const { return rings_.empty() && !touches_ ? kForever : kLook; }
  bool protects(uintptr_t address) const { return find(address) != results_.end(); }
  // False where the page was never protected. Allocates nothing: signal handlers call it.
  bool touch(const FaultingAccess& access, const InterruptedCode& code);
  // Takes a touch out whose command is done, or never will be, and says whether the bytes have changed.
  bool take_finished(Touch* finished, bool* changed);
  bool has_touches() const { return touches_; }
  void forget_touches() {
    touches_ = 0;
    pending_touches.store(0);
  }

 private:
  Rings::iterator find(const Ring& ring) {
    return std::find_if(rings_.begin(), rings_.end(), [&](const HeldRing& each) { return each.ring == &ring; });
  }
  std::vector<Protected>::const_iterator find(uintptr_t address) const {
    return std::find_if(results_.begin(), results_.end(),
                        [&](const Protected& each) { return each.on && each.pages.contains(address); });
  }
  Rings take(Rings::iterator held);
  void unprotect();
  bool time_is_over();
  bool remember(const Pages& pages);

  Rings rings_;
  std::vector<Protected> results_;
  // Pages that were protected, and when last. A thread may fault on one and come here after it was made accessible.
  struct Known {
    Pages pages;
    uint64_t time;
  };
  std::vector<Known> known_;
  SubmittingThread submitter_;
  uint64_t timeouts_ = 0;
  bool touched_ = false;
  // Nanoseconds between two looks at the thread that submitted, and at touched results.
  static constexpr uint64_t kLook = 1'000'000;
  static constexpr size_t kMostTouches = 16, kMostKnown = 4096, kMostResults = 256;
  Touch all_touches_[kMostTouches];
  size_t touches_ = 0;
};

}  // namespace anyzero
