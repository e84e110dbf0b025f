#include "pool.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <climits>

#include "../system/clock.h"
#include "../system/settings.h"
#include "../system/signal.h"
#include "../system/thread.h"

namespace anyzero {

namespace {

struct Job {
  void (*run)(void*, uint32_t);
  void* context;
  uint32_t chunks;
  bool brief;
  int processor;                    // the processor of the thread that offers it
  std::atomic<bool> joined{false};  // by another thread
  std::atomic<uint32_t> next{0};
  std::atomic<bool> faulted{false};
  Fault fault{};  // the first one; read when all chunks are over
};

// A slot that offers a job. `guests` keeps the job's frame alive while other threads use it.
struct alignas(64) Offer {
  std::atomic<bool> taken{false};
  std::atomic<Job*> job{nullptr};
  std::atomic<uint32_t> guests{0};
};

constexpr uint32_t kOffers = 16;
Offer offers[kOffers];
std::atomic<uint32_t> on_offer{0};
std::atomic<uint32_t> doorbell{0};
std::atomic<uint32_t> sleepers{0};
std::atomic<uint32_t> workers{0};

// False if no chunk was left.
bool work_on_one(Job& job) {
  uint32_t chunk = job.next.fetch_add(1, std::memory_order_relaxed);
  if (chunk >= job.chunks) return false;
  Fault fault = trapped([&] { job.run(job.context, chunk); });
  if (fault.signal == 0) return true;
  if (!job.faulted.exchange(true, std::memory_order_relaxed)) job.fault = fault;
  // There may be hundreds of millions of chunks, too many to skip one by one.
  job.next.store(job.chunks, std::memory_order_relaxed);
  return false;
}

// Runs one chunk of each offered job, or of the brief ones.
bool help(bool with_all);

// A worker that was woken while all processors were busy may be queued behind the thread that woke it, where it would stay for
// milliseconds although another processor is idle by now.
void leave_to(int processor) {
  cpu_set_t allowed, others;
  if (sched_getcpu() != processor || sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) return;
  others = allowed;
  CPU_CLR(processor, &others);
  if (sched_setaffinity(0, sizeof others, &others) == 0) sched_setaffinity(0, sizeof allowed, &allowed);
}

void* worker(void*) {
  for (;;) {
    uint64_t idle_since = now_ns();
    while (!help(true)) {
      if (uint64_t idle = now_ns() - idle_since; idle < settings.spin_ns) {
        spin_a_while(idle);
        continue;
      }
      sleepers.fetch_add(1, std::memory_order_seq_cst);
      FutexWord word{&doorbell, doorbell.load(std::memory_order_seq_cst)};
      if (on_offer.load(std::memory_order_seq_cst) == 0) futex_sleep_any(&word, 1, kForever);
      sleepers.fetch_sub(1, std::memory_order_seq_cst);
      idle_since = now_ns();
    }
  }
  return nullptr;
}

void after_fork() {
  workers.store(0);
  sleepers.store(0);
  on_offer.store(0);
  for (Offer& offer : offers) {
    offer.job.store(nullptr);
    offer.guests.store(0);
    offer.taken.store(false);
  }
}

void start_workers() {
  uint32_t wanted = settings.threads > 1 ? static_cast<uint32_t>(settings.threads - 1) : 0;
  uint32_t running = workers.load(std::memory_order_relaxed);
  if (running >= wanted || !workers.compare_exchange_strong(running, wanted)) return;
  static const bool registered = (at_fork_child(after_fork), true);
  (void)registered;
  for (uint32_t i = running; i < wanted; ++i) start_thread(worker, nullptr, "az-worker");
}

Offer* make_offer(Job& job) {
  for (Offer& offer : offers) {
    if (offer.taken.exchange(true, std::memory_order_acquire)) continue;
    offer.job.store(&job, std::memory_order_seq_cst);
    return &offer;
  }
  return nullptr;
}

}  // namespace

bool help_parallel() { return help(false); }

namespace {
bool help(bool with_all) {
  if (on_offer.load(std::memory_order_seq_cst) == 0) return false;
  bool helped = false;
  for (Offer& offer : offers) {
    if (!offer.job.load(std::memory_order_relaxed)) continue;
    offer.guests.fetch_add(1, std::memory_order_seq_cst);
    Job* job = offer.job.load(std::memory_order_seq_cst);
    if (job && (job->brief || with_all)) {
      if (!job->joined.load(std::memory_order_relaxed)) job->joined.store(true, std::memory_order_relaxed);
      if (with_all) leave_to(job->processor);
      if (work_on_one(*job)) helped = true;
    }
    offer.guests.fetch_sub(1, std::memory_order_release);
  }
  return helped;
}
}  // namespace

void parallel(uint32_t chunks, void (*run)(void*, uint32_t), void* context, bool brief) {
  Job job{.run = run, .context = context, .chunks = chunks, .brief = brief, .processor = sched_getcpu()};
  Offer* offer = nullptr;
  if (chunks > 1 && settings.threads > 1) {
    start_workers();
    offer = make_offer(job);
  }
  if (offer) {
    on_offer.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst)) {
      doorbell.fetch_add(1, std::memory_order_seq_cst);
      futex_wake(&doorbell, static_cast<int>(chunks - 1));
    }
  }
  bool more = work_on_one(job);
  // The woken thread may wait for this processor.
  if (offer && more && !job.joined.load(std::memory_order_relaxed)) sched_yield();
  while (more) more = work_on_one(job);
  if (offer) {
    offer->job.store(nullptr, std::memory_order_seq_cst);
    on_offer.fetch_sub(1, std::memory_order_seq_cst);
    // The others are in their last chunk, which is mostly too short for a sleep.
    for (unsigned tries = 0; offer->guests.load(std::memory_order_seq_cst); ++tries) relax_long(tries);
    offer->taken.store(false, std::memory_order_release);
  }
  if (job.faulted.load(std::memory_order_relaxed) && current_trap) raise(job.fault);
}

}  // namespace anyzero
