#include "command_order.h"

namespace anyzero {

void CommandOrder::lose_track() {
  lost_ = true;
  rings_.clear();
  objects_.clear();
  log_.clear();
  waiting_ = 0;
}

uint64_t CommandOrder::submitted(uint64_t ring, uint64_t otherwise) const {
  const auto found = rings_.find(ring);
  return found == rings_.end() ? otherwise : found->second.submitted;
}

// On one device, what is done is visible.
void CommandOrder::meet_device(const void* device) {
  several_ = device_ != nullptr;
  device_ = device;
  if (!several_) return;
  for (auto& [number, ring] : rings_) ring.visible = ring.clock;
  for (auto& [object, state] : objects_) state.visible = state.clock;
}

bool CommandOrder::over(const CommandWait& wait) const {
  if (wait.event) {
    const auto found = objects_.find(wait.event);
    return found != objects_.end() && found->second.signalled;
  }
  const auto found = rings_.find(wait.ring);
  return found == rings_.end() || found->second.played >= wait.position;
}

bool CommandOrder::ready(const CommandUse& command) const {
  for (const CommandWait& wait : command.waits)
    if (!over(wait)) return false;
  return true;
}

void CommandOrder::submit(const CommandUse& command, uint64_t done) {
  if (command.device != device_ && !several_) meet_device(command.device);
  const auto [at, fresh] = rings_.try_emplace(command.name.ring);
  RingState& ring = at->second;
  if (fresh) ring.before = command.name.position - 1;
  ring.device = command.device;
  ring.card = command.card;
  const uint64_t position = command.name.position;
  // Something that calls do not tell lets commands go on, or other processes may.
  if (command.unknown || (!ring.waiting.empty() && ring.waiting.front().name.position <= done)) return lose_track();
  ring.submitted = position;
  if (!command.spans.empty()) ring.touched = position;
  if (ring.waiting.empty() && ready(command)) {
    play(ring, command);
    if (waiting_) play_waiting();
    return;
  }
  ring.waiting.push_back(command);
  ++waiting_;
}

void CommandOrder::play_waiting() {
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& [number, ring] : rings_) {
      // One command of each ring in turn: a ring that others wait for does not run ahead of them.
      if (ring.waiting.empty() || !ready(ring.waiting.front())) continue;
      const CommandUse command = std::move(ring.waiting.front());
      ring.waiting.pop_front();
      --waiting_;
      play(ring, command);
      moved = true;
    }
  }
}

void CommandOrder::play(RingState& ring, const CommandUse& command) {
  const uint64_t number = command.name.ring, position = command.name.position;
  Clock later;
  ring.behind = std::max(ring.behind, command.behind);
  for (const CommandWait& wait : command.waits) {
    if (wait.event) {
      const ObjectState& object = objects_[wait.event];
      ring.clock.join(object.clock);
      later.join(object.later);
      if (several_ && object.shows_to(ring)) ring.visible.join(object.visible);
    } else if (const auto found = rings_.find(wait.ring); found != rings_.end()) {
      const auto reach = [&](Clock& clock) {
        if (&found->second != &ring) clock.join(found->second.clock);
        clock.join(wait.ring, wait.position);
      };
      reach(ring.clock);
      if (several_) reach(ring.visible);  // the scopes of counting events are not looked at
    }
  }
  const auto ordered = [&](const CommandName& before) {
    if (before.ring == number && before.position <= ring.behind) return true;
    return ring.clock.has(before.ring, before.position) || host_.has(before.ring, before.position);
  };
  const auto is_visible = [&](const CommandName& before) {
    if (!several_ || before.ring == number || ring.visible.has(before.ring, before.position)) return true;
    const auto found = rings_.find(before.ring);
    return found == rings_.end() || found->second.device == ring.device || host_.has(before.ring, before.position);
  };
  for (const Span& span : command.spans)
    log_.add(
        span, command.name, ordered,
        [&](const LoggedAccess& before, uintptr_t address) {
          const bool same_ring = before.command.ring == number;
          if (same_ring && before.command.position == position) return false;
          const bool reused = later.has(before.command.ring, before.command.position);
          const bool passed = same_ring && before.command.position < ring.partial_barrier;
          races_.push_back({before, {command.name, span.writes}, address, false, reused, passed});
          return same_ring;  // a barrier here orders what follows as well: one report for each place that lacks one
        },
        [&](const LoggedAccess& before, uintptr_t address) {
          if (!is_visible(before.command)) races_.push_back({before, {command.name, false}, address, true});
        });
  ring.played = position;
  if (command.blocks) ring.behind = position;
  if (command.name.op == Op::Barrier && !command.blocks) ring.partial_barrier = position;
  if (!command.blocks && command.spans.empty()) ring.clock.add(number, position);  // nobody needs to wait for it
  const auto add_this = [&](Clock& clock) {
    clock.join(number, ring.behind);
    clock.add(number, position);
  };
  if (command.resets) objects_[command.resets] = {};
  if (command.signals) {
    ObjectState& object = objects_[command.signals];
    if (object.signalled) {
      add_this(object.later);
    } else {
      object.signalled = true;
      object.clock = ring.clock;
      add_this(object.clock);
      object.device = ring.device;
      object.card = ring.card;
      object.scopes = command.scopes;
      if (several_) {
        object.visible = ring.visible;
        add_this(object.visible);
      }
    }
  }
  if (command.tells_host) {
    host_.join(ring.clock);
    add_this(host_);
  }
}

void CommandOrder::host_saw(uint64_t number, uint64_t position) {
  const auto found = rings_.find(number);
  if (found == rings_.end()) return;
  RingState& ring = found->second;
  // The host saw what could not have happened by the calls alone.
  if (!ring.waiting.empty() && ring.waiting.front().name.position <= position) return lose_track();
  host_.join(ring.clock);
  host_.join(number, position);
  prune();
}

void CommandOrder::host_saw_lost(uint64_t number) {
  const auto found = rings_.find(number);
  if (found == rings_.end()) return;
  waiting_ -= found->second.waiting.size();
  found->second.waiting.clear();
  host_saw(number, found->second.submitted);
}

void CommandOrder::host_saw(const void* object) {
  const auto found = objects_.find(object);
  if (found == objects_.end()) return;
  if (!found->second.signalled) return lose_track();
  host_.join(found->second.clock);
  prune();
}

void CommandOrder::host_signals(const void* event) {
  ObjectState& object = objects_[event];
  if (!object.signalled) object = {true, host_, {}, host_};
  if (waiting_) play_waiting();
}

void CommandOrder::resets(const void* object) { objects_[object] = {}; }

void CommandOrder::prune() {
  for (auto& [number, ring] : rings_)
    if (!ring.waiting.empty() || !host_.has_all(number, ring.before + 1, ring.touched)) return;
  // The host has seen everything: all later commands are behind it.
  log_.clear();
  rings_.clear();
  host_ = {};
}

}  // namespace anyzero
