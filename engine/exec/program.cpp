#include "program.h"

#include <algorithm>

#include "../objects/sync/event.h"
#include "dispatch.h"
#include "ring.h"

namespace anyzero {

namespace {
uint64_t sum(uint64_t a, uint64_t b) { return b > UINT64_MAX - a ? UINT64_MAX : a + b; }
}  // namespace

uint64_t Program::cost() const {
  constexpr uint64_t kShort = 16, kLong = UINT64_MAX / 2;
  if (launches_ == 0) return cost_;
  if (count_ > kShort) return kLong;
  uint64_t cost = cost_;
  Cursor at{stream_.first()};
  for (uint64_t i = 0; i < count_; ++i) {
    const Packet& packet = at.packet();
    if (packet.op == Op::Launch) cost = sum(cost, cost_of(static_cast<const LaunchPacket&>(packet)));
    at.advance(packet);
  }
  return cost;
}

void Program::note_unsettled(Packet& packet, uint64_t command) {
  for (uint32_t i = 0; i < packet.n_waits; ++i) {
    const WaitFor& wait = packet.waits()[i];
    if (!settled_at_execution(wait)) continue;
    unsettled_.push_back({wait.event, false, 0, wait.event ? GraphPlace{} : GraphPlace::of(wait)});
    ++settled_waits_;
  }
  if (!packet.signal) return;
  if (!packet.signal->counts()) {
    last_signal_ = packet.signal;
    last_signal_at_ = command;
    return;
  }
  packet.announced = true;
  unsettled_.push_back({packet.signal, true, command, {}});
}

WaitFor* Program::settle(Ring& ring, uint64_t before, WaitFor* targets, const Point* branches) const {
  for (const Unsettled& use : unsettled_) {
    if (use.signal) {
      use.event->track(ring, before + use.command + 1);
    } else if (use.event) {
      *targets++ = use.event->wait_from_now();
    } else {
      const Point& branch = branches[use.source.branch];
      branch.ring->retain();
      *targets++ = {nullptr, {branch.ring, branch.position + use.source.command + 1}};
    }
  }
  if (last_signal_) last_signal_->track(ring, before + last_signal_at_ + 1);
  return targets;
}

void Program::clear() {
  Cursor at{stream_.first()};
  for (uint64_t i = 0; i < count_; ++i) {
    Packet& packet = at.packet();
    let_go(packet);
    at.advance(packet);
  }
  stream_.rewind();
  count_ = 0;
  cost_ = 0;
  launches_ = 0;
  unsettled_.clear();
  settled_waits_ = 0;
  last_signal_ = nullptr;
  named_.clear();
  overlaps_.clear();
  overlaps_any_ = false;
}

const Overlap* Program::overlap_at(uint64_t command) const {
  auto found = std::lower_bound(overlaps_.begin(), overlaps_.end(), command,
                                [](const Overlap& each, uint64_t first) { return each.first < first; });
  return found != overlaps_.end() && found->first == command ? &*found : nullptr;
}

uint64_t Program::name_next(uint32_t may_change) {
  if (named_.empty() || named_.back().packet) named_.push_back({});
  named_.back() = {nullptr, may_change};
  return named_.size();
}

const Program::Named* Program::named(uint64_t id) const {
  if (id == 0 || id > named_.size() || !named_[id - 1].packet) return nullptr;
  return &named_[id - 1];
}

void Program::events_changed() {
  unsettled_.clear();
  settled_waits_ = 0;
  last_signal_ = nullptr;
  Cursor at{stream_.first()};
  for (uint64_t i = 0; i < count_; ++i) {
    Packet& packet = at.packet();
    note_unsettled(packet, i);
    at.advance(packet);
  }
}

}  // namespace anyzero
