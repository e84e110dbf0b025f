// The contents of a ring, for check mode.
#include <algorithm>
#include <mutex>

#include "engine.h"
#include "program.h"
#include "ring.h"

namespace anyzero {

std::string command_text(const Packet& packet, const Ring& ring, uint64_t position) {
  char text[256];
  describe(packet, text, sizeof text);
  return std::string(text) + ", command " + std::to_string(position) + " of queue " + std::to_string(ring.number());
}

void Ring::each_submitted(const std::function<void(const Packet&, uint64_t)>& look) {
  std::lock_guard lock(write_lock_);
  const uint64_t all = submitted(), counted = completed_.value.load(std::memory_order_acquire) & ~Signal::kFailed;
  const uint64_t done = std::max({counted, ended_.load(std::memory_order_relaxed), given_up_});
  Cursor at{oldest_ ? oldest_ : stream_.first(), 0};
  for (uint64_t position = oldest_position_; position < all;) {
    const Packet& packet = at.packet();
    position += packet.commands();
    at.advance(packet);
    if (position > done) look(packet, position);
  }
}

bool Ring::each_upcoming(const std::function<uint32_t(const SubmittedCommand&)>& look) {
  if (!turn_.try_lock()) return false;
  const uint64_t all = submitted();
  Cursor at = head_.chunk ? head_ : Cursor{stream_.first(), 0};
  for (uint64_t position = done_; position < all;) {
    const Packet& packet = at.packet();
    at.advance(packet);
    if (packet.op == Op::Execute) {
      auto& execute = static_cast<const ExecutePacket&>(packet);
      // The first one may be running.
      const bool begun = position == done_ && inside_ != 0;
      const WaitFor* targets = begun ? targets_ : const_cast<ExecutePacket&>(execute).targets();
      if (!begun && packet.n_waits) look({packet, position, nullptr, nullptr});
      uint64_t before = position;
      for (uint64_t i = 0; i < execute.count; ++i) {
        Program& program = *execute.programs()[i];
        const uint64_t skipped = !begun ? 0 : i + 1 < inside_ ? program.count() : i + 1 == inside_ ? inner_done_ : 0;
        Cursor inner{program.stream().first(), 0};
        for (uint64_t done = 0; done < program.count(); ++done) {
          const Packet& each = inner.packet();
          inner.advance(each);
          if (done < skipped) continue;
          targets += look({each, before + done + 1, targets, &program});
        }
        before += program.count();
      }
    }
    position += packet.commands();
    if (packet.op != Op::Execute || packet.signal) look({packet, position, nullptr, nullptr});
  }
  turn_.unlock_then_look();
  // A thread that came to walk the ring meanwhile found it busy.
  if (!idle()) engine_.submit(*this);
  return true;
}

}  // namespace anyzero
