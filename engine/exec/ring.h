// A queue's input: packets go in from any thread and are walked in order by one thread at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../abi/gen/ze_api.h"
#include "../system/mutex.h"
#include "../system/signal.h"
#include "../system/spinlock.h"
#include "../system/thread.h"
#include "busy.h"
#include "stream.h"
#include "trap.h"

namespace anyzero {

class Context;
class Engine;
struct RecordingFile;

enum class Progress {
  Idle,         // everything submitted is done
  Blocked,      // the next packet waits for an event
  NeedsEngine,  // the next packet may only run on an engine thread
  Yield,        // something more urgent came
  Busy,         // another thread is walking the ring
};

// The wait that a ring is blocked by, held.
class Blocker {
 public:
  Blocker() = default;
  explicit Blocker(const WaitFor& wait) : wait_(wait), awaited_(awaited(wait)) { hold(wait_); }
  Blocker(Blocker&& other) noexcept : wait_(std::exchange(other.wait_, {})), awaited_(other.awaited_) {}
  Blocker& operator=(Blocker&& other) noexcept {
    std::swap(wait_, other.wait_);
    std::swap(awaited_, other.awaited_);
    return *this;
  }
  ~Blocker() { let_go(wait_); }
  Signal& signal() const { return *awaited_.signal; }
  bool pending() const { return awaited_.signal->state(awaited_.target) == Signal::State::Pending; }

 private:
  WaitFor wait_{};
  Awaited awaited_{};
};

// A command that a ring has been given and that is not done, for reports.
struct SubmittedCommand {
  const Packet& packet;
  uint64_t position;       // the ring's count when it is done
  const WaitFor* targets;  // of a recorded command: the resolved targets of its waits; or nullptr
  const Program* program;  // that it belongs to, or nullptr
};

class Ring;

// Check mode's part in a wait without a time limit: NOT_READY where nothing can end it, SUCCESS to wait on.
using EndlessWaitObserver = ze_result_t (*)(Ring& ring, uint64_t position);
inline constinit std::atomic<EndlessWaitObserver> endless_wait_observer{nullptr};

// Check mode's part in commands that it holds back: their submission is complete, and they have run if they could within the call.
using HeldObserver = void (*)(Ring& ring);
inline constinit std::atomic<HeldObserver> held_observer{nullptr};
// Lets all commands go that are held back; nullptr while there are none. Called before a thread waits.
inline constinit std::atomic<void (*)()> let_held_go{nullptr};

// Threading: any thread may submit, wait or offer help.
class Ring {
  // Read by threads that may come too late, while another ring is being made in the same slot: so it is the first field, where the
  // pool of slots writes nothing, and no constructor changes it. Zero in a slot that is free or under construction.
  uint32_t users_;

 public:
  static Ring* make(Context& context, Device& device, Engine& engine, uint32_t priority);

  void retain() { users().fetch_add(1, std::memory_order_relaxed); }
  // Rings live in slots that are never unmapped, so this may be called for a destroyed ring. Another one may have taken its slot.
  bool retain_if_alive();
  void release();

  Context& context() const { return context_; }
  Device& device() const { return device_; }
  uint32_t priority() const { return priority_.load(std::memory_order_relaxed); }
  // Takes effect when the ring is next submitted to its engine.
  void set_priority(uint32_t priority) { priority_.store(priority, std::memory_order_relaxed); }
  Engine& engine() const { return engine_; }
  // Rings are numbered from 1 in each process, for reports.
  uint64_t number() const { return number_; }
  // Nanoseconds that kernels and copies of this ring have taken until `now`.
  uint64_t busy(uint64_t now) const { return busy_.until(now); }

  // Writing: take the lock, reserve, fill, publish (which releases the lock). Publishing runs nothing.
  void* begin(size_t size) {
    write_lock_.lock();
    try {
      return stream_.reserve(size);
    } catch (...) {
      write_lock_.unlock();
      throw;
    }
  }
  // Another packet, right after a complete one, in space that was reserved for both. They are published together.
  void* begin_next(Packet& complete) {
    stream_.commit(complete.size);
    return reinterpret_cast<unsigned char*>(&complete) + complete.size;
  }
  // The number of commands that had been submitted when the lock was taken.
  uint64_t before() const { return submitted_.load(std::memory_order_relaxed); }
  // Releases the lock without publishing: nothing was written.
  void cancel() { write_lock_.unlock(); }
  // The packet counts as so many commands. Returns the number of submitted commands, including these.
  uint64_t publish(Packet& packet, uint64_t commands = 1) {
    hold(packet);
    return publish_held(packet, commands);
  }
  // The same for a packet that already holds the objects it names.
  uint64_t publish_held(Packet& packet, uint64_t commands = 1) {
    stream_.commit(packet.size);
    const uint64_t position = before() + commands;
    submitted_.store(position, std::memory_order_release);
    write_lock_.unlock();
    return position;
  }

  // After publishing: runs the work on this thread if it is `cheap` and the commands `before` it are done, else hands it to the
  // engine. It ends at `position`; this thread does not run later submissions.
  void start(bool cheap, uint64_t before, uint64_t position);

  uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }
  // Commands behind this position do not run for now: check mode holds those back whose results the host may read too
  // early. Set by the observer of their submission.
  void hold_behind(uint64_t position) { held_behind_.store(position, std::memory_order_relaxed); }
  // From any thread.
  void stop_holding();
  bool idle() const { return lost() || completed_.value.load(std::memory_order_acquire) >= submitted(); }
  Signal& completed() { return completed_; }

  // Waits on the host until all commands up to `position` are done: helps, polls, sleeps. NOT_READY after the timeout.
  ze_result_t wait(uint64_t position, uint64_t timeout);

  // The position at which no command submitted so far names that memory any more; 0 if none does. Does not wait. Behind a long
  // backlog only a `thorough` search goes to its end; otherwise the memory counts as named by all of it.
  uint64_t last_use(const MemoryRange& memory, bool thorough);

  // Visits every packet that is not done, with its position; the first may be done meanwhile. Submitters wait meanwhile. For check
  // mode and reports.
  void each_submitted(const std::function<void(const Packet&, uint64_t position)>& look);
  // Visits every command that is not done, those of recorded lists one by one; `look` returns the number of targets that belong to
  // the command. False if a thread walks the ring, which is then not stuck. For check mode.
  bool each_upcoming(const std::function<uint32_t(const SubmittedCommand&)>& look);

  // Walks packets on the calling thread, unless another thread does. If the result is Blocked, `blocker` gets the wait.
  // A helper stops once `until` packets are done or at `deadline`.
  Progress process(bool on_engine_thread, Blocker* blocker = nullptr, uint64_t until = UINT64_MAX, uint64_t deadline = kForever);
  // Walks the ring on the calling thread until `position` is done or the time is over; the engine does the rest.
  void help(uint64_t position, uint64_t deadline);

  bool lost() const { return lost_.load(std::memory_order_acquire); }
  // DEVICE_LOST, with the report as this thread's error text.
  ze_result_t tell_lost() const;

  // Its index in the device's list, under the device's lock.
  size_t place = 0;
  // Bookkeeping of the engine's lists.
  std::atomic<bool> queued{false};
  Ring* next_queued = nullptr;

 private:
  friend class Walk;
  std::atomic_ref<uint32_t> users() { return std::atomic_ref<uint32_t>(users_); }
  Ring(Context& context, Device& device, Engine& engine, uint32_t priority);
  ~Ring();
  void lose(const Packet* packet, const char* reason);
  // The number of commands that may run now. A submitter stores the limit before the count.
  uint64_t runnable() const {
    const uint64_t all = submitted_.load(std::memory_order_seq_cst);
    return std::min(all, held_behind_.load(std::memory_order_seq_cst));
  }
  void start_held(bool cheap, uint64_t before, uint64_t position);

  Context& context_;
  Device& device_;
  Engine& engine_;
  std::atomic<uint32_t> priority_;
  const uint64_t number_;

  alignas(64) SpinLock write_lock_;
  Stream stream_;
  // Where threads without the turn begin to read packets, under the lock; and where chunks and programs are released.
  Chunk* oldest_ = nullptr;             // the first chunk that is not released; nullptr before the first release
  uint64_t oldest_position_ = 0;        // commands before it
  uint64_t given_up_ = 0;               // up to here, programs and kernels that packets name may be destroyed
  std::atomic<uint64_t> submitted_{0};  // commands; a recorded list counts as all of its own and one more
  static constexpr uint64_t kAllFree = UINT64_MAX;
  std::atomic<uint64_t> held_behind_{kAllFree};

  alignas(64) SpinLock turn_;  // held by the thread that walks
  Cursor head_;
  uint64_t done_ = 0;
  // Commands whose work is done: stored before they signal, so that a thread that has seen an event finds its command here. They
  // count in `completed_` a moment later: a thread that waits for the ring finds its events signalled.
  std::atomic<uint64_t> ended_{0};
  // Inside an Execute packet: which program, and how far.
  uint64_t inside_ = 0;  // index of the program + 1; 0 when not inside
  Cursor inner_;
  uint64_t inner_done_ = 0;
  uint64_t inner_before_ = 0;         // commands of the packet's programs before this one
  const WaitFor* targets_ = nullptr;  // resolved targets of the next packet's waits
  uint64_t execute_start_ = 0;
  const Packet* running_ = nullptr;
  Busy busy_;
  WaitFor blocked_on_{};
  // For recordings.
  uint64_t blocked_since_ = 0;
  const RecordingFile* described_in_ = nullptr;  // the last one that knows this ring's engine and device

  std::atomic<bool> lost_{false};
  mutable Mutex report_mutex_;
  std::string report_;

  Signal completed_{};  // commands done; fails, and grows no more, when the ring is lost
};

// Text: a command with its position in the ring.
std::string command_text(const Packet& packet, const Ring& ring, uint64_t position);

// A position in a ring; holds the ring.
class RingPoint {
 public:
  RingPoint(Ring* ring, uint64_t position) : ring_(ring), position_(position) {}  // adopts a reference
  RingPoint(RingPoint&& other) noexcept : ring_(other.ring_), position_(other.position_) { other.ring_ = nullptr; }
  RingPoint& operator=(RingPoint&& other) noexcept {
    std::swap(ring_, other.ring_);
    position_ = other.position_;
    return *this;
  }
  ~RingPoint() {
    if (ring_) ring_->release();
  }
  // Moves the point to the last of the commands before it that name the memory; false when none does.
  bool narrow_to_use(const MemoryRange& memory, bool thorough) { return (position_ = ring_->last_use(memory, thorough)) != 0; }
  Ring& ring() const { return *ring_; }
  bool reached() const { return ring_->completed().state(position_) != Signal::State::Pending; }
  ze_result_t wait() { return ring_->wait(position_, kForever); }

 private:
  Ring* ring_;
  uint64_t position_;
};

}  // namespace anyzero
