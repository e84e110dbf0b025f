#include "tracer.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <new>

namespace anyzero::loader {

namespace {

struct Tracer {
  Callbacks callbacks;
  std::shared_ptr<const Callbacks> published;  // as of the last enable
  bool enabled = false;
};

// The tracers that a thread reads at the moment (a hazard pointer). Slots are never freed; a new thread reuses that of an ended
// one.
struct Slot {
  std::atomic<const ActiveTracers*> held{nullptr};
  std::atomic<bool> taken{true};
  Slot* next = nullptr;
};

constinit std::atomic<const ActiveTracers*> active{nullptr};
constinit std::atomic<Slot*> slots{nullptr};
// The number of threads that wait for calls to end, and of calls that ended meanwhile.
constinit std::atomic<uint32_t> waiting{0};
constinit std::atomic<uint32_t> ended{0};

std::mutex changing;

// Under `changing`. Leaked: programs call from exit handlers.
struct State {
  std::map<zel_tracer_handle_t, std::unique_ptr<Tracer>> tracers;
  std::vector<zel_tracer_handle_t> enabled;
  std::vector<std::unique_ptr<const ActiveTracers>> replaced;  // calls may still hold them
};
State& state() {
  static auto* const made = new State;
  return *made;
}

constinit thread_local Slot* own = nullptr;

struct SlotReturn {
  ~SlotReturn() {
    if (!own) return;
    own->taken.store(false, std::memory_order_release);
    own = nullptr;
  }
};

Slot* take_slot() {
  static thread_local SlotReturn at_thread_exit;
  (void)at_thread_exit;
  for (Slot* each = slots.load(std::memory_order_acquire); each; each = each->next) {
    bool taken = false;
    if (each->taken.compare_exchange_strong(taken, true, std::memory_order_acq_rel)) return own = each;
  }
  auto* made = new (std::nothrow) Slot;
  if (!made) return nullptr;
  made->next = slots.load(std::memory_order_relaxed);
  while (!slots.compare_exchange_weak(made->next, made, std::memory_order_seq_cst)) {
  }
  return own = made;
}

bool is_held(const ActiveTracers* tracers) {
  for (Slot* each = slots.load(std::memory_order_seq_cst); each; each = each->next)
    if (each->held.load(std::memory_order_seq_cst) == tracers) return true;
  return false;
}

bool has(const ActiveTracers& tracers, zel_tracer_handle_t owner) {
  return std::any_of(tracers.tracers.begin(), tracers.tracers.end(), [&](const auto& each) { return each->owner == owner; });
}

void reclaim(State& all) {
  std::erase_if(all.replaced, [](const auto& each) { return !is_held(each.get()); });
}

// Returns nullptr if no tracer is enabled.
std::unique_ptr<ActiveTracers> callbacks_of(const State& all, const std::vector<zel_tracer_handle_t>& enabled) {
  if (enabled.empty()) return nullptr;
  auto made = std::make_unique<ActiveTracers>();
  for (zel_tracer_handle_t handle : enabled) {
    const auto& callbacks = all.tracers.at(handle)->published;
    made->tracers.push_back(callbacks);
    for (size_t i = 0; i < kFunctions; ++i)
      if (callbacks->before[i] || callbacks->after[i]) made->called.set(i);
  }
  return made;
}

// Changes everything or, if memory is short, nothing.
void activate(State& all, std::vector<zel_tracer_handle_t> enabled) {
  std::unique_ptr<ActiveTracers> made = callbacks_of(all, enabled);
  all.replaced.reserve(all.replaced.size() + 1);
  all.enabled = std::move(enabled);
  if (const ActiveTracers* before = active.exchange(made.release(), std::memory_order_seq_cst)) all.replaced.emplace_back(before);
  reclaim(all);
}

// Applies a change to a tracer, which must be disabled.
template <class Change>
ze_result_t change(zel_tracer_handle_t handle, Change change) {
  std::lock_guard lock(changing);
  State& all = state();
  const auto found = all.tracers.find(handle);
  if (found == all.tracers.end()) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (found->second->enabled) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  change(found->second->callbacks);
  return ZE_RESULT_SUCCESS;
}

// A forked child has only one thread.
void forget_other_threads() {
  new (&changing) std::mutex;
  waiting.store(0, std::memory_order_relaxed);
  for (Slot* each = slots.load(std::memory_order_relaxed); each; each = each->next) {
    if (each == own) continue;
    each->held.store(nullptr, std::memory_order_relaxed);
    each->taken.store(false, std::memory_order_relaxed);
  }
}

const int prepared_for_fork = pthread_atfork([] { changing.lock(); }, [] { changing.unlock(); }, forget_other_threads);

}  // namespace

HeldTracers::HeldTracers(FunctionIndex function) {
  if (!active.load(std::memory_order_acquire)) return;
  Slot* slot = own ? own : take_slot();
  if (!slot || slot->held.load(std::memory_order_relaxed)) return;
  const ActiveTracers* found;
  // A thread that replaces the tracers looks for holders afterwards: either it sees this one, or this one sees the replacement.
  do {
    found = active.load(std::memory_order_acquire);
    slot->held.store(found, std::memory_order_seq_cst);
  } while (found != active.load(std::memory_order_seq_cst));
  held_ = found;
  if (found && !found->called.test(static_cast<size_t>(function))) {
    release();
    held_ = nullptr;
  }
}

void HeldTracers::release() {
  own->held.store(nullptr, std::memory_order_seq_cst);
  if (!waiting.load(std::memory_order_seq_cst)) return;
  ended.fetch_add(1);
  ended.notify_all();
}

ze_result_t create_tracer(void* user, zel_tracer_handle_t* created) try {
  if (!created) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  auto made = std::make_unique<Tracer>();
  const auto handle = reinterpret_cast<zel_tracer_handle_t>(made.get());
  made->callbacks.owner = handle;
  made->callbacks.user = user;
  std::lock_guard lock(changing);
  state().tracers.emplace(handle, std::move(made));
  *created = handle;
  return ZE_RESULT_SUCCESS;
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t destroy_tracer(zel_tracer_handle_t handle) {
  waiting.fetch_add(1);
  ze_result_t result = ZE_RESULT_SUCCESS;
  for (bool in_use = true; in_use && result == ZE_RESULT_SUCCESS;) {
    const uint32_t before = ended.load();
    {
      std::lock_guard lock(changing);
      State& all = state();
      const auto found = all.tracers.find(handle);
      if (found == all.tracers.end()) {
        result = ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
        break;
      }
      reclaim(all);
      const auto calls = [&](const auto& each) { return has(*each, handle); };
      const ActiveTracers* const held = own ? own->held.load(std::memory_order_relaxed) : nullptr;
      // A callback cannot wait for the call that it belongs to.
      if (found->second->enabled || (held && has(*held, handle))) result = ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE;
      in_use = std::any_of(all.replaced.begin(), all.replaced.end(), calls);
      if (!in_use && result == ZE_RESULT_SUCCESS) all.tracers.erase(found);
    }
    if (in_use && result == ZE_RESULT_SUCCESS) ended.wait(before);
  }
  waiting.fetch_sub(1);
  return result;
}

ze_result_t set_callbacks(zel_tracer_handle_t tracer, zel_tracer_reg_t when, const ze_callbacks_t* callbacks) {
  if (!callbacks) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  return change(tracer, [&](Callbacks& own) {
    auto& all = when == ZEL_REGISTER_PROLOGUE ? own.before : own.after;
#define CORE_CALLBACK(name, place) \
  all[static_cast<size_t>(FunctionIndex::name)] = reinterpret_cast<zel_callback_t>(callbacks->place);
#include "gen/core_callbacks.inc"
  });
}

ze_result_t register_callback(zel_tracer_handle_t tracer, zel_tracer_reg_t when, FunctionIndex function, zel_callback_t callback) {
  if (when != ZEL_REGISTER_PROLOGUE && when != ZEL_REGISTER_EPILOGUE) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  return change(tracer, [&](Callbacks& own) {
    (when == ZEL_REGISTER_PROLOGUE ? own.before : own.after)[static_cast<size_t>(function)] = callback;
  });
}

ze_result_t reset_callbacks(zel_tracer_handle_t tracer) {
  return change(tracer, [](Callbacks& own) {
    own.before.fill(nullptr);
    own.after.fill(nullptr);
  });
}

ze_result_t enable_tracer(zel_tracer_handle_t handle, bool enabled) try {
  std::lock_guard lock(changing);
  State& all = state();
  const auto found = all.tracers.find(handle);
  if (found == all.tracers.end()) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  Tracer& tracer = *found->second;
  if (tracer.enabled == enabled) return ZE_RESULT_SUCCESS;
  std::vector<zel_tracer_handle_t> active_now = all.enabled;
  if (enabled) {
    // A copy: calls that began before the tracer was disabled may still read the earlier one.
    tracer.published = std::make_shared<const Callbacks>(tracer.callbacks);
    active_now.push_back(handle);
  } else {
    std::erase(active_now, handle);
  }
  activate(all, std::move(active_now));
  tracer.enabled = enabled;
  return ZE_RESULT_SUCCESS;
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

}  // namespace anyzero::loader
