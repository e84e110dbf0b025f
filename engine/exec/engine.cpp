#include "engine.h"

#include <sched.h>

#include <algorithm>
#include <new>

#include "../system/clock.h"
#include "../system/settings.h"
#include "../system/thread.h"

namespace anyzero {

namespace {
Mutex engines_mutex;
std::vector<Engine*>* engines = new std::vector<Engine*>;  // leaked: engines outlive everything
}  // namespace

Engine::Engine(uint32_t threads, uint64_t number) : threads_(threads), number_(number) {
  std::lock_guard lock(engines_mutex);
  if (engines->empty()) at_fork_child(after_fork);
  engines->push_back(this);
}

void Engine::after_fork() {
  // In a forked child: pending work belongs to the parent, and a new thread starts with the first submission.
  for (Engine* engine : *engines) {
    for (auto& stack : engine->ready_) stack.store(nullptr);
    // The parent's thread may have been changing these containers at the fork: they are leaked, not destroyed.
    for (auto& list : engine->runnable_) new (&list) std::vector<Ring*>;
    for (auto& count : engine->runnable_count_) count.store(0);
    new (&engine->parked_) std::vector<Parked>;
    engine->parked_count_.store(0);
    engine->charge_.store(0);
    engine->alarm_.store(0);
    engine->deputy_.store(false);
    engine->relieved_.store(0);
    engine->asleep_.store(0);
    engine->ringing_.store(false);
    engine->started_.store(false);
  }
}

void Engine::submit(Ring& ring) {
  if (!ring.queued.exchange(true, std::memory_order_acq_rel)) {
    ring.retain();
    auto& stack = ready_[ring.priority()];
    Ring* head = stack.load(std::memory_order_relaxed);
    do {
      ring.next_queued = head;
    } while (!stack.compare_exchange_weak(head, &ring, std::memory_order_seq_cst));
  }
  if (!started_.load(std::memory_order_acquire)) start();
  wake_one();
  // The thread in charge is walking another ring, and may stay there.
  if (has_deputies() && charge_.load(std::memory_order_seq_cst) % 2) alarm();
}

// If no thread can be started, the threads that wait for the work do it, and the next submission tries again.
void Engine::start() {
  if (started_.exchange(true)) return;
  uint32_t running = 0;
  while (running < threads_ && start_thread(thread_main, this, "az-engine")) ++running;
  if (running == 0) started_.store(false, std::memory_order_release);
}

// One wake-up is enough: until the woken thread runs, further submitters skip it.
void Engine::wake_one() {
  if (asleep_.load(std::memory_order_seq_cst) == 0 || ringing_.exchange(true, std::memory_order_seq_cst)) return;
  doorbell_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake(&doorbell_, 1);
}

void* Engine::thread_main(void* engine) {
  static_cast<Engine*>(engine)->run();
  return nullptr;
}

bool Engine::any_ready() const {
  for (const auto& stack : ready_)
    if (stack.load(std::memory_order_seq_cst)) return true;
  return false;
}

void Engine::collect() {
  for (uint32_t p = 0; p < kPriorities; ++p) {
    if (!ready_[p].load(std::memory_order_relaxed)) continue;
    Ring* ring = ready_[p].exchange(nullptr, std::memory_order_acq_rel);
    size_t from = runnable_[p].size();
    for (; ring; ring = ring->next_queued) runnable_[p].push_back(ring);
    std::reverse(runnable_[p].begin() + static_cast<ptrdiff_t>(from), runnable_[p].end());
    runnable_count_[p].store(static_cast<uint32_t>(runnable_[p].size()), std::memory_order_relaxed);
  }
}

Ring* Engine::next() {
  for (uint32_t p = 0; p < kPriorities; ++p) {
    auto& list = runnable_[p];
    if (list.empty()) continue;
    Ring* ring = list.front();
    list.erase(list.begin());
    runnable_count_[p].store(static_cast<uint32_t>(list.size()), std::memory_order_relaxed);
    return ring;
  }
  return nullptr;
}

bool Engine::run_ring(Ring* ring, bool others_wait) {
  // From here on a new submission queues the ring again.
  ring->queued.store(false, std::memory_order_seq_cst);
  const uint64_t entered = has_deputies() ? enter() : 0;
  if (has_deputies() && (others_wait || has_ready(kPriorities - 1))) alarm();
  Blocker blocker;
  const Progress progress = ring->process(true, &blocker);
  const bool in_charge = !has_deputies() || leave(entered);
  switch (progress) {
    case Progress::Blocked:
      if (in_charge) {
        park(ring, std::move(blocker));
      } else {
        submit(*ring);  // the thread in charge watches the signals that rings wait for, and may be asleep already
      }
      break;
    case Progress::Yield:
    case Progress::NeedsEngine:
      submit(*ring);
      break;
    case Progress::Idle:
    case Progress::Busy:  // the thread that walks it submits it again if work is left
      break;
  }
  ring->release();
  return in_charge;
}

void Engine::park(Ring* ring, Blocker blocker) {
  std::lock_guard lock(mutex_);
  for (Parked& parked : parked_) {
    if (parked.ring != ring) continue;
    parked.blocker = std::move(blocker);
    return;
  }
  ring->retain();
  parked_.push_back({ring, std::move(blocker)});
  parked_count_.store(static_cast<uint32_t>(parked_.size()), std::memory_order_relaxed);
}

void Engine::revive_parked() {
  for (size_t i = 0; i < parked_.size();) {
    if (parked_[i].blocker.pending()) {
      ++i;
      continue;
    }
    Ring* ring = parked_[i].ring;
    std::swap(parked_[i], parked_.back());
    parked_.pop_back();
    submit(*ring);
    ring->release();
  }
  parked_count_.store(static_cast<uint32_t>(parked_.size()), std::memory_order_relaxed);
}

void Engine::run() {
  // Where jobs are long, a thread that submits one and waits at once should run it itself: that saves two wake-ups.
  constexpr uint64_t kCourtesy = 5'000;
  uint64_t idle_since = 0;
  bool rested = false;
  for (;;) {
    Ring* ring;
    bool more = false;
    {
      std::lock_guard lock(mutex_);
      collect();
      revive_parked();
      ring = next();
      // Another thread is needed, if only to watch awaited signals while this one is busy.
      if (ring) more = work_waits();
    }
    if (ring) {
      if (more && threads_ > 1) wake_one();
      if (rested && threads_ > 1)
        for (const uint64_t begin = now_ns(); now_ns() - begin < kCourtesy;) sched_yield();  // the submitter may need this CPU
      if (!run_ring(ring, more)) {
        if (!become_deputy()) return;
        stand_by();
      }
      rested = false;
      idle_since = 0;
      continue;
    }
    if (any_ready()) continue;
    uint64_t time = now_ns();
    if (idle_since == 0) idle_since = time;
    if (time - idle_since < settings.spin_ns) {
      spin_a_while(time - idle_since);
      continue;
    }
    rest();
    rested = true;
    idle_since = 0;
  }
}

// Sleeps until a submission or one of the awaited signals. Each awaited signal is told of the sleeper before its value is checked
// for the last time, and submitters read `asleep_` after their push, so no wake-up is lost. A sleeping thread watches the rings
// that were parked when it fell asleep.
void Engine::rest() {
  constexpr size_t kMost = 60;
  FutexWord words[1 + kMost];
  std::vector<Parked> watched;
  size_t watching = 0;
  {
    std::lock_guard lock(mutex_);
    watched.swap(parked_);
    parked_count_.store(0, std::memory_order_relaxed);
  }
  words[0] = {&doorbell_, doorbell_.load(std::memory_order_seq_cst)};
  asleep_.fetch_add(1, std::memory_order_seq_cst);
  ringing_.store(false, std::memory_order_seq_cst);  // the last wake-up may have found its thread awake already
  bool stay_awake = any_ready();
  while (!stay_awake && watching < std::min(kMost, watched.size())) {
    const Blocker& blocker = watched[watching].blocker;
    Signal& signal = blocker.signal();
    signal.sleepers.fetch_add(1, std::memory_order_seq_cst);
    words[++watching] = {&signal.epoch, signal.epoch.load(std::memory_order_seq_cst)};
    stay_awake = !blocker.pending();
  }
  constexpr uint64_t kPollNs = 500'000;  // only if there are more parked rings than one sleep can watch
  if (!stay_awake) futex_sleep_any(words, static_cast<uint32_t>(1 + watching), watched.size() > kMost ? kPollNs : kForever);
  for (size_t i = 0; i < watching; ++i) watched[i].blocker.signal().sleepers.fetch_sub(1, std::memory_order_seq_cst);
  asleep_.fetch_sub(1, std::memory_order_seq_cst);
  ringing_.store(false, std::memory_order_seq_cst);  // this thread is awake, so the next wake-up may be sent
  std::lock_guard lock(mutex_);
  if (parked_.empty()) {
    parked_.swap(watched);
  } else {
    for (Parked& parked : watched) parked_.push_back(std::move(parked));
  }
  parked_count_.store(static_cast<uint32_t>(parked_.size()), std::memory_order_relaxed);
}

}  // namespace anyzero
