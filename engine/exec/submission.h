// Observers of submitted commands: recordings and check mode.
#pragma once

#include <atomic>

#include "../trace/recording.h"
#include "ring.h"

namespace anyzero {

// Called with the ring's lock held, before the packet can run; `before` commands have been submitted before it. `fence` follows the
// packet. Must neither wait for commands nor throw.
using SubmissionObserver = void (*)(Ring& ring, const Packet& packet, uint64_t before, Fence* fence);
inline constinit std::atomic<SubmissionObserver> submission_observer{nullptr};

// Without a packet, for a command that observers cannot inspect.
inline void note_submission(Ring& ring, const Packet* packet, uint64_t before, Fence* fence = nullptr) {
  const uint32_t by = watched.load(std::memory_order_relaxed);
  if (!(by & (kRecorded | kNoted))) [[likely]]
    return;
  if (by & kRecorded)
    if (Recorder* of = recorder()) of->exchange_submitted(command_number(ring.number(), before + 1));
  if (!(by & kNoted)) return;
  SubmissionObserver observe = submission_observer.load(std::memory_order_acquire);
  if (observe && packet) observe(ring, *packet, before, fence);
}

}  // namespace anyzero
