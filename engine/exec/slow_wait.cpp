#include "slow_wait.h"

#include <cstdio>
#include <string>

namespace anyzero {

namespace {

std::string text_of(const WaitFor& wait) {
  char text[64];
  if (wait.point.ring) {
    std::snprintf(text, sizeof text, "command %llu of queue %llu", static_cast<unsigned long long>(wait.point.position),
                  static_cast<unsigned long long>(wait.point.ring->number()));
  } else {
    std::snprintf(text, sizeof text, "event %p", static_cast<const void*>(wait.event));
  }
  return text;
}

// Text: the pending wait of a command, or empty.
std::string blocker_of(const SubmittedCommand& command, uint32_t* used) {
  std::string found;
  const WaitFor* targets = command.targets;
  for (uint32_t i = 0; i < command.packet.n_waits; ++i) {
    const WaitFor& wait = settled(command.packet.waits()[i], &targets);
    const Awaited what = awaited(wait);
    if (found.empty() && what.signal && what.signal->state(what.target) == Signal::State::Pending) found = text_of(wait);
  }
  *used = static_cast<uint32_t>(targets - command.targets);
  return found;
}

// Text: the state of the queue.
std::string state_of(Ring& ring) {
  std::string text;
  const bool still = ring.each_upcoming([&](const SubmittedCommand& command) {
    uint32_t used = 0;
    const std::string blocker = blocker_of(command, &used);
    if (text.empty()) {
      text = command_text(command.packet, ring, command.position);
      text += blocker.empty() ? " is next" : " waits for " + blocker;
    }
    return used;
  });
  if (still) return text;
  ring.each_submitted([&](const Packet& packet, uint64_t position) {
    if (text.empty()) text = command_text(packet, ring, position) + " is running";
  });
  return text;
}

}  // namespace

void warn_of_wait(AwaitedObject what, Ring* ring, uint64_t position) {
  std::string state;
  if (ring && ring->retain_if_alive()) {
    if (ring->submitted() >= position) state = state_of(*ring);
    ring->release();
  }
  std::fprintf(stderr, "anyzero: a wait for %s %p has lasted %.3g s: %s\n", what.kind, what.address,
               static_cast<double>(settings.slow_wait_ms) / 1000, state.empty() ? "nothing is to signal it" : state.c_str());
}

}  // namespace anyzero
