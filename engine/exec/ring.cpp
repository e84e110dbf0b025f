#include "ring.h"

#include <cstdio>
#include <mutex>

#include "../abi/error.h"
#include "../abi/slots.h"
#include "../check/finding.h"
#include "../objects/devices/context.h"
#include "../objects/devices/device.h"
#include "../objects/sync/event.h"
#include "../system/settings.h"
#include "engine.h"
#include "output.h"
#include "processor.h"
#include "wait.h"

namespace anyzero {

namespace {
SlotPool& slots() {
  static SlotPool* slots = new SlotPool(sizeof(Ring));  // leaked, as all pools are
  return *slots;
}
uint64_t next_number() {
  static constinit std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Ring* Ring::make(Context& context, Device& device, Engine& engine, uint32_t priority) {
  install_traps();
  void* slot = slots().take();
  Ring* ring = new (slot) Ring(context, device, engine, priority);
  context.retain();
  device.add_ring(ring);
  ring->users().store(1, std::memory_order_release);
  return ring;
}

Ring::Ring(Context& context, Device& device, Engine& engine, uint32_t priority)
    : context_(context), device_(device), engine_(engine), priority_(priority), number_(next_number()) {}

Ring::~Ring() {
  device_.remove_ring(this);
  // No thread walks any more; commands that never ran release their objects.
  while (done_ < submitted_.load(std::memory_order_relaxed)) {
    if (!head_.chunk) head_.chunk = stream_.first();
    Packet& packet = head_.packet();
    done_ += packet.commands();
    let_go(packet);
    head_.advance(packet);
  }
  stream_.free_from(head_.chunk ? head_.chunk : stream_.first());
  context_.release();
}

bool Ring::retain_if_alive() {
  uint32_t seen = users().load(std::memory_order_relaxed);
  while (seen != 0)
    if (users().compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) return true;
  return false;
}

void Ring::release() {
  if (users().fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  this->~Ring();
  slots().give_back(this);
}

void Ring::start(bool cheap, uint64_t before, uint64_t position) {
  if (held_behind_.load(std::memory_order_relaxed) != kAllFree) [[unlikely]]
    return start_held(cheap, before, position);
  bool first = completed_.value.load(std::memory_order_acquire) >= before;
  if (cheap && first && process(false, nullptr, position) == Progress::Idle) return;
  // The walking thread checks for new packets after it has released the turn, and submits the ring again if there are any.
  if (!turn_.held_now()) engine_.submit(*this);
}

// What runs within its call leaves no time to read too early, so it is not held back.
void Ring::start_held(bool cheap, uint64_t before, uint64_t position) {
  const bool first = completed_.value.load(std::memory_order_acquire) >= before;
  uint64_t held = before;
  if (cheap && first && held_behind_.compare_exchange_strong(held, position)) process(false, nullptr, position);
  if (const HeldObserver observe = held_observer.load(std::memory_order_acquire)) observe(*this);
}

void Ring::stop_holding() {
  held_behind_.store(kAllFree, std::memory_order_seq_cst);
  if (!turn_.held_now() && !idle()) engine_.submit(*this);
}

Progress Ring::process(bool on_engine_thread, Blocker* blocker, uint64_t until, uint64_t deadline) {
  for (;;) {
    if (!turn_.try_lock()) return Progress::Busy;
    Progress progress = Walk(*this, on_engine_thread, until, deadline).run();
    if (progress == Progress::Blocked && blocker) *blocker = Blocker(blocked_on_);
    uint64_t seen = done_;
    turn_.unlock_then_look();
    completed_.wake_sleepers();  // of the counts that pop() has stored; the line above is the barrier for it
    if (progress != Progress::Idle) return progress;
    // A submitter that found the ring busy relies on this check after the release.
    if (seen >= runnable()) return Progress::Idle;
  }
}

uint64_t Ring::last_use(const MemoryRange& memory, bool thorough) {
  const uint64_t all = submitted();
  uint64_t last = 0;
  // Submitters wait while packets are searched, so the search is done in pieces.
  constexpr uint64_t kPiece = 4096;
  for (uint64_t seen = 0; seen < all && !idle();) {
    if (seen && !thorough) return all;
    std::lock_guard lock(write_lock_);
    Cursor at{oldest_ ? oldest_ : stream_.first(), 0};
    uint64_t looked = 0;
    for (uint64_t position = oldest_position_; position < all && looked < kPiece;) {
      const Packet& packet = at.packet();
      position += packet.commands();
      at.advance(packet);
      if (position <= seen) continue;
      seen = position;
      looked += packet.commands();
      const bool gone = holds_more(packet.op) && position <= given_up_;
      if (!gone && names(packet, memory)) last = position;
    }
    if (looked == 0) break;  // the rest has been released meanwhile
  }
  return last;
}

void Ring::help(uint64_t position, uint64_t deadline) {
  retain();
  Progress progress = process(false, nullptr, position, deadline);
  if (progress != Progress::Idle && progress != Progress::Busy) engine_.submit(*this);
  // If the engine could not start a thread, only helpers do its work.
  if (progress == Progress::NeedsEngine && !engine_.has_thread()) process(true, nullptr, position, deadline);
  release();
}

ze_result_t Ring::wait(uint64_t position, uint64_t timeout) {
  if (completed_.state(position) == Signal::State::Reached && !lost()) [[likely]] {
    show_output();
    return ZE_RESULT_SUCCESS;
  }
  if (timeout == kForever && is_checked(kCheckSync))
    if (const EndlessWaitObserver observe = endless_wait_observer.load(std::memory_order_acquire))
      if (ze_result_t r = observe(*this, position)) return r;
  Signal::State state = host_wait(completed_, position, timeout, {"queue", this}, this, position);
  if (lost()) return tell_lost();
  return state == Signal::State::Reached ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

void Ring::lose(const Packet* packet, const char* reason) {
  char command[256] = "an unknown command";
  if (packet) describe(*packet, command, sizeof command);
  std::string report = std::string("device lost in ") + command + ": " + reason;
  {
    std::lock_guard lock(report_mutex_);
    report_ = report;
  }
  // A thread that sees the ring lost must find the context lost, too.
  context_.mark_lost(report);
  lost_.store(true, std::memory_order_release);
  completed_.fail();
  if (settings.log_level >= 1) std::fprintf(stderr, "anyzero: %s\n", report.c_str());
}

ze_result_t Ring::tell_lost() const {
  std::lock_guard lock(report_mutex_);
  return fail(ZE_RESULT_ERROR_DEVICE_LOST, "%s", report_.c_str());
}

}  // namespace anyzero
