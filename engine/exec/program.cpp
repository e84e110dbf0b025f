#include "program.h"

#include "../objects/event.h"
#include "dispatch.h"

namespace anyzero {

namespace {
uint64_t sum(uint64_t a, uint64_t b) { return b > UINT64_MAX - a ? UINT64_MAX : a + b; }
}  // namespace

void Program::added(Packet& packet, uint64_t cost) {
  hold(packet);
  note_counters(packet, count_);
  if (!named_.empty() && !named_.back().packet) named_.back().packet = &packet;
  stream_.commit(packet.size);
  ++count_;
  if (packet.op == Op::Launch) {
    ++launches_;
  } else {
    cost_ = sum(cost_, cost);
  }
}

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

void Program::note_counters(const Packet& packet, uint64_t command) {
  for (uint32_t i = 0; i < packet.n_waits; ++i) {
    Event* event = packet.waits()[i].event;
    if (!event || !event->counts()) continue;
    counters_.push_back({event, false, command});
    ++counting_waits_;
  }
  if (packet.signal && packet.signal->counts()) counters_.push_back({packet.signal, true, command});
}

WaitFor* Program::settle_counters(Ring& ring, uint64_t before, WaitFor* targets) const {
  for (const CounterUse& use : counters_) {
    if (use.signal) {
      use.event->track(ring, before + use.command + 1);
    } else {
      *targets++ = use.event->wait_from_now();
    }
  }
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
  counters_.clear();
  counting_waits_ = 0;
  named_.clear();
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
  counters_.clear();
  counting_waits_ = 0;
  Cursor at{stream_.first()};
  for (uint64_t i = 0; i < count_; ++i) {
    Packet& packet = at.packet();
    note_counters(packet, i);
    at.advance(packet);
  }
}

}  // namespace anyzero
