// The order of commands by rings, events, fences and waits of the host: happens-before, by vector clocks. Commands are played
// through as they are submitted, each as soon as what it waits for has been played; which of them is really done does not matter.
// Between devices, visibility is a second order: events without the scope for it make an order alone.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "access_log.h"
#include "clock.h"
#include "command_use.h"

namespace anyzero {

struct Race {
  LoggedAccess before;
  LoggedAccess after;
  uintptr_t address;
  bool ordered = false;  // no race: but what the first wrote is not visible on the device of the second
  bool reused = false;   // the second waits for an event that the first signals, but that was signalled before
  bool passed = false;   // a barrier is between the two, but it waits for events alone
};

// Threading: under a lock of its owner.
class CommandOrder {
 public:
  // Commands come in the order of their ring. `done`: how far the ring has really come.
  void submit(const CommandUse& command, uint64_t done);
  // A ring got commands that were not submitted here: the order is unknown from now on.
  void lose_track();
  // The host has seen the commands of a ring up to a position, or a binary event or a fence.
  void host_saw(uint64_t ring, uint64_t position);
  void host_saw(const void* object);
  // The host has seen that a ring is lost: what was not done will not be.
  void host_saw_lost(uint64_t ring);
  // All commands of the devices that `has` accepts.
  template <class F>
  void host_saw_all(F&& has) {
    std::vector<std::pair<uint64_t, uint64_t>> seen;
    for (const auto& [number, ring] : rings_)
      if (has(ring.device)) seen.emplace_back(number, ring.submitted);
    for (const auto& [number, position] : seen) host_saw(number, position);
  }
  void host_signals(const void* event);
  void resets(const void* object);
  void forget(const void* object) { objects_.erase(object); }
  void forget(uintptr_t begin, uintptr_t end) { log_.forget(begin, end); }

  // An access of this memory by a command that the host has not seen done, or nullptr.
  const LoggedAccess* unseen(uintptr_t begin, uintptr_t end) const {
    return log_.find(begin, end, [&](const LoggedAccess& each) { return !host_.has(each.command.ring, each.command.position); });
  }
  bool knows(const void* object) const { return objects_.contains(object); }
  // The number of commands submitted to the ring; `otherwise` for an unknown ring.
  uint64_t submitted(uint64_t ring, uint64_t otherwise) const;
  bool lost() const { return lost_; }
  bool has_races() const { return !races_.empty(); }
  std::vector<Race> take_races() { return std::exchange(races_, {}); }

 private:
  struct RingState {
    const void* device = nullptr;
    const void* card = nullptr;
    Clock clock;                   // what is done when its next command begins, besides
    Clock visible;                 // the part of it whose writes its device sees, where there are several devices
    uint64_t behind = 0;           // its own commands up to here
    uint64_t partial_barrier = 0;  // the last barrier that waits for events alone
    uint64_t before = 0;           // commands that it had before the first that is known
    uint64_t submitted = 0;
    uint64_t touched = 0;  // the last command that uses memory
    uint64_t played = 0;
    std::deque<CommandUse> waiting;
  };
  struct ObjectState {
    bool signalled = false;
    Clock clock;  // of who signalled it first since its reset: a wait may end there
    Clock later;  // of who signalled it again
    Clock visible;
    const void* device = nullptr;  // that signalled it; nullptr for the host
    const void* card = nullptr;
    uint32_t scopes = 0;

    // Whether a wait on the device makes visible there what was visible to who signalled it. Tiles of a device are content with
    // any scope.
    bool shows_to(const RingState& ring) const {
      if (!device || device == ring.device || reaches_devices(scopes)) return true;
      return card == ring.card && scopes;
    }
  };

  void meet_device(const void* device);
  bool over(const CommandWait& wait) const;
  bool ready(const CommandUse& command) const;
  void play(RingState& ring, const CommandUse& command);
  void play_waiting();
  void prune();

  std::unordered_map<uint64_t, RingState> rings_;
  std::unordered_map<const void*, ObjectState> objects_;
  Clock host_;  // of all threads of the program together: how they tell each other is not known
  AccessLog log_;
  std::vector<Race> races_;
  uint64_t waiting_ = 0;          // commands, in all rings
  const void* device_ = nullptr;  // of the first command
  bool several_ = false;          // commands have come on several devices
  bool lost_ = false;
};

}  // namespace anyzero
