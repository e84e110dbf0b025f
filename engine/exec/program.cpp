#include "program.h"

#include "../objects/event.h"

namespace anyzero {

void Program::added(Packet& packet, uint64_t cost) {
  hold(packet);
  if (packet.signal && packet.signal->counts()) counters_.push_back(packet.signal);
  if (!named_.empty() && !named_.back().packet) named_.back().packet = &packet;
  stream_.commit(packet.size);
  ++count_;
  cost_ = cost > UINT64_MAX - cost_ ? UINT64_MAX : cost_ + cost;
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
  counters_.clear();
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
  Cursor at{stream_.first()};
  for (uint64_t i = 0; i < count_; ++i) {
    Packet& packet = at.packet();
    if (packet.signal && packet.signal->counts()) counters_.push_back(packet.signal);
    at.advance(packet);
  }
}

}  // namespace anyzero
