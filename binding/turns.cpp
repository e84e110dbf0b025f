// An OpenCL queue and an immediate list of Level Zero that take turns. Each hand-over is a single call from Python: separate calls
// for its commands took longer than the work that a turn waits for.
#include <mutex>
#include <new>
#include <vector>

#include "links.h"

namespace {

// Filled by Python, as those of links are.
struct TurnFunctions {
  LinkFunctions link;
  int32_t (*marker)(void* queue, uint32_t count, void* const* waits, void** event);
  int32_t (*barrier)(void* queue, uint32_t count, void* const* waits, void** event);
  int32_t (*flush)(void* queue);
  void* (*user_event)(void* context, int32_t* error);
  int32_t (*retain)(void* event);
  uint32_t (*append_wait)(void* list, uint32_t count, void** events);
  uint32_t (*append_signal)(void* list, void* event);
  uint32_t (*reset)(void* event);
  uint32_t (*destroy)(void* event);
};

// The events of a turn in Level Zero: the list waits for the first and signals the second.
struct Pair {
  void* begin = nullptr;
  void* end = nullptr;
};

// The result of a hand-over, and the side that failed.
enum Outcome : int32_t { kDone, kNeedsEvents, kOpenClFailed, kLevelZeroFailed, kNoThread };

struct Turns {
  TurnFunctions call;
  std::shared_ptr<Line> line;
  void* queue;
  void* context;
  void* list;
  int32_t failure;  // the status of OpenCL commands behind a turn that failed

  std::mutex mutex{};
  std::vector<Pair> spare{};
  Pair now{};

  ~Turns() {
    for (const Pair& pair : spare) destroy(pair);
  }
  void destroy(const Pair& pair) {
    call.destroy(pair.begin);
    call.destroy(pair.end);
  }
};

using Held = std::shared_ptr<Turns>;

// Adopts one reference of `opencl`.
bool link(const Held& turns, void* opencl, void* event, bool to_opencl, std::function<void()> ended) {
  auto* made = new (std::nothrow)
      Link{turns->call.link, turns->line, opencl, event, to_opencl, to_opencl ? turns->failure : 0, std::move(ended)};
  if (made && see_to(made)) {
    made->drop();
    return true;
  }
  delete made;
  return false;
}

}  // namespace

EXPORTED Held* anyzero_turns(const TurnFunctions* functions, const std::shared_ptr<Line>* line, void* queue, void* context,
                             void* list, int32_t failure) {
  auto* turns = new (std::nothrow) Turns{*functions, *line, queue, context, list, failure};
  return turns ? new (std::nothrow) Held(turns) : nullptr;
}

// Pending turns still complete, and their events live until then.
EXPORTED void anyzero_turns_drop(Held* turns) { delete turns; }

// Two events that nothing uses, to be destroyed by these turns.
EXPORTED void anyzero_turns_give(Held* held, void* begin, void* end) {
  std::lock_guard lock((*held)->mutex);
  (*held)->spare.push_back({begin, end});
}

// Commands appended to the list from now on run after all commands of the OpenCL queue. `error` is the result of the side that
// failed.
EXPORTED int32_t anyzero_turn_begin(Held* held, int32_t* error) {
  Turns& turns = **held;
  {
    std::lock_guard lock(turns.mutex);
    if (turns.spare.empty()) return kNeedsEvents;
    turns.now = turns.spare.back();
    turns.spare.pop_back();
  }
  auto give_back = [&] { anyzero_turns_give(held, turns.now.begin, turns.now.end); };
  void* before = nullptr;
  if ((*error = turns.call.marker(turns.queue, 0, nullptr, &before)) || (*error = turns.call.flush(turns.queue))) {
    if (before) turns.call.link.release(before);
    give_back();
    return kOpenClFailed;
  }
  if (uint32_t result = turns.call.append_wait(turns.list, 1, &turns.now.begin)) {
    turns.call.link.release(before);
    give_back();
    *error = static_cast<int32_t>(result);
    return kLevelZeroFailed;
  }
  Held kept = *held;
  if (link(*held, before, turns.now.begin, false, [kept] {})) return kDone;
  turns.call.link.release(before);
  turns.call.link.signal(turns.now.begin);  // the list must not wait forever; the events are not used again
  return kNoThread;
}

// Commands enqueued to the OpenCL queue from now on run after all commands of the list.
EXPORTED int32_t anyzero_turn_end(Held* held, int32_t* error) {
  Turns& turns = **held;
  if (uint32_t result = turns.call.append_signal(turns.list, turns.now.end)) {
    *error = static_cast<int32_t>(result);
    return kLevelZeroFailed;
  }
  void* complete = turns.call.user_event(turns.context, error);
  if (!complete) return kOpenClFailed;
  turns.call.retain(complete);  // once for the link
  const int32_t failed = turns.call.barrier(turns.queue, 1, &complete, nullptr);
  // The list has passed its wait by the time that it signals, so both events are free then.
  Pair pair = turns.now;
  Held kept = *held;
  const bool linked = link(*held, complete, pair.end, true, [kept, pair] {
    kept->call.reset(pair.begin);
    kept->call.reset(pair.end);
    std::lock_guard lock(kept->mutex);
    kept->spare.push_back(pair);
  });
  if (!linked) {
    turns.call.link.set_status(complete, turns.failure);
    turns.call.link.release(complete);
  }
  turns.call.link.release(complete);
  *error = failed ? failed : turns.call.flush(turns.queue);
  return *error ? kOpenClFailed : linked ? kDone : kNoThread;
}
