// Links an OpenCL event with a Level Zero event: the completion of one completes the other.
//
// Both directions run on threads that never use Python, so a program may hold the GIL, or have finalized Python. The functions of
// the two APIs are passed in; this library links neither.
#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <mutex>
#include <new>

#include "links.h"

namespace {
constexpr uint32_t kNotReady = 1;            // ZE_RESULT_NOT_READY
constexpr uint32_t kStatusOfEvent = 0x11D3;  // CL_EVENT_COMMAND_EXECUTION_STATUS
}  // namespace

void Link::wait_and_pass_on() {
  // Before the signal, so that a woken thread finds it.
  status.store(to_opencl ? outcome_of_level_zero() : outcome_of_opencl(), std::memory_order_release);
  if (to_opencl)
    call.set_status(opencl, status.load(std::memory_order_relaxed));
  else
    call.signal(level_zero);
  call.release(opencl);
  if (ended) ended();
  // From here on Python may destroy the Level Zero event.
  done.store(true, std::memory_order_release);
  drop();
}

int32_t Link::outcome_of_level_zero() {
  uint32_t result;
  do result = call.synchronize(level_zero, UINT64_MAX);
  while (result == kNotReady);
  return result ? failure : 0;
}

// Not by a callback: PoCL 3.1 calls none for a command that failed.
int32_t Link::outcome_of_opencl() {
  int32_t result = call.wait_for_events(1, &opencl);
  if (!result) return 0;
  int32_t found = 0;
  return !call.event_info(opencl, kStatusOfEvent, sizeof found, &found, nullptr) && found < 0 ? found : result;
}

namespace {

// Threads that wait, one per line, and one per link without a line: any of these waits may depend on any other's end. The pool is
// leaked: threads may be waiting when the process exits.
class Waiters {
 public:
  bool take(Link* link) {
    std::lock_guard lock(mutex_);
    if (Line* line = link->line.get()) {
      if (line->taken) {
        line->waiting.push_back(link);
        return true;
      }
      line->taken = true;
    }
    links_.push_back(link);
    if (idle_ >= links_.size()) {
      work_.notify_one();
      return true;
    }
    if (start()) return true;
    links_.pop_back();
    if (link->line) link->line->taken = false;
    return false;
  }

 private:
  bool start() {
    // Blocks the program's signals, except those of faults: the engine may run kernels on a waiting thread, and catches their
    // faults.
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    pthread_t thread;
    int failed = pthread_create(&thread, nullptr, [](void* self) { return static_cast<Waiters*>(self)->run(); }, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!failed) pthread_detach(thread);
    return !failed;
  }

  void* run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      work_.wait(lock, [this] { return !links_.empty(); });
      --idle_;
      Link* link = links_.front();
      links_.pop_front();
      while (link) {
        std::shared_ptr<Line> line = link->line;
        lock.unlock();
        link->wait_and_pass_on();
        lock.lock();
        link = line ? next_of(*line) : nullptr;
      }
    }
  }

  static Link* next_of(Line& line) {
    line.taken = !line.waiting.empty();
    if (!line.taken) return nullptr;
    Link* link = line.waiting.front();
    line.waiting.pop_front();
    return link;
  }

  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<Link*> links_;
  size_t idle_ = 0;
};

}  // namespace

bool see_to(Link* link) {
  static auto* waiters = new Waiters;
  return waiters->take(link);
}

// A link that completes one event when the other is complete or has failed: a user event of OpenCL, or an event of Level Zero. A
// failed OpenCL command signals as well, so that no wait hangs; its status can be queried. The link adopts one reference of
// `opencl`, and `level_zero` must live until it is done. nullptr if the system grants no thread. `line` may be null.
EXPORTED Link* anyzero_link(const LinkFunctions* functions, const std::shared_ptr<Line>* line, void* opencl, void* level_zero,
                            bool to_opencl, int32_t failure) {
  auto* link = new (std::nothrow) Link{*functions, line ? *line : nullptr, opencl, level_zero, to_opencl, failure};
  if (!link) return nullptr;
  if (see_to(link)) return link;
  delete link;
  return nullptr;
}

EXPORTED std::shared_ptr<Line>* anyzero_line() { return new std::shared_ptr<Line>(new Line); }

EXPORTED void anyzero_line_drop(std::shared_ptr<Line>* line) { delete line; }

EXPORTED int32_t anyzero_link_status(const Link* link) { return link->status.load(std::memory_order_acquire); }

EXPORTED bool anyzero_link_done(const Link* link) { return link->done.load(std::memory_order_acquire); }

EXPORTED void anyzero_link_drop(Link* link) { link->drop(); }
