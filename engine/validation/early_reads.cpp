#include "early_reads.h"

#include <pthread.h>
#include <time.h>

#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "../check/finding.h"
#include "../check/made.h"
#include "../objects/memory/allocation.h"
#include "../system/clock.h"
#include "../system/mutex.h"
#include "../system/signal.h"
#include "../system/thread.h"
#include "access_log.h"
#include "held_commands.h"
#include "known_memory.h"

namespace anyzero {

namespace {

constexpr uintptr_t kPage = 4096;

struct Shared {
  Mutex mutex;
  HeldCommands value;
  HeldCommands::Rings at_fork;
};

Shared& shared() {
  static auto* all = new Shared;  // leaked: threads touch memory while the process exits
  return *all;
}

template <class F>
auto with_held(F&& act) {
  std::lock_guard lock(shared().mutex);
  return act(shared().value);
}

void run(const HeldCommands::Rings& rings) {
  for (const HeldRing& each : rings) {
    each.ring->stop_holding();
    each.ring->release();
  }
}

std::atomic<bool> watching{false};

void let_all_go() {
  run(with_held([](HeldCommands& held) { return held.take(); }));
}

void report_touch(const Touch& touch) {
  const void* code = touch.code.in_program();
  const auto place = reinterpret_cast<uintptr_t>(code);
  if (seen(Rule::EarlyHostRead, place)) return;
  char where[256];
  describe_address(touch.address, where, sizeof where);
  const LoggedAccess writer{touch.command, true};
  Finding finding{Rule::EarlyHostRead, place, "", "", "", "", where, writer.text()};
  finding.message = std::string("the host ") + (touch.writes ? "writes" : "reads") + " memory that a command is still to write";
  finding.memory += where_made(reinterpret_cast<const void*>(touch.address));
  finding.call = touch.writes ? "a write by the host" : "a read by the host";
  finding.caller = code_place(code);
  report(std::move(finding));
}

void report_finished() {
  for (;;) {
    Touch touch;
    bool changed = false;
    if (!with_held([&](HeldCommands& held) { return held.take_finished(&touch, &changed); })) return;
    if (changed) report_touch(touch);
    touch.ring->release();
  }
}

void* watch(void*) {
  for (;;) {
    FutexWord word{&held_doorbell, held_doorbell.load(std::memory_order_seq_cst)};
    report_finished();
    run(with_held([](HeldCommands& held) { return held.take_due(); }));
    futex_sleep_any(&word, 1, with_held([](HeldCommands& held) { return held.until_next_look(); }));
  }
  return nullptr;
}

// A thread that faults here holds no lock of this file: nothing below touches memory of the program under one.
bool settle(const FaultingAccess& access) {
  if (!watching.load(std::memory_order_acquire)) return false;
  InterruptedCode code;
  // Device work may have begun before the submission.
  const bool program = !current_trap && with_held([&](HeldCommands& held) { return held.protects(access.address); });
  if (program) code.read(access.context);
  return with_held([&](HeldCommands& held) { return held.touch(access, code); });
}

// A forked child has the pages, and the commands are its parent's.
void before_fork() {
  shared().mutex.lock();
  shared().at_fork = shared().value.take();
}
void after_fork_in_parent() {
  const HeldCommands::Rings rings = std::move(shared().at_fork);
  shared().mutex.unlock();
  run(rings);
}
void after_fork_in_child() {
  shared().value.forget_touches();
  shared().mutex.unlock();
  watching.store(false);
}

bool start_watching() {
  if (watching.load(std::memory_order_acquire)) return true;
  static const bool prepared = [] {
    InterruptedCode().read(nullptr);
    add_fault_settler(settle);
    return pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
  }();
  if (!prepared) return false;
  if (watching.exchange(true)) return true;
  if (start_thread(watch, nullptr, "az-held")) return true;
  watching.store(false);
  return false;
}

void submitted(Ring& ring) {
  run(with_held([&](HeldCommands& held) { return held.submitted(ring); }));
}

// The pages of which the command writes all bytes that belong to the allocation, where no other one has any. None where the program
// cannot see the memory.
Pages whole_pages(const Span& span) {
  Pages found{0, 0};
  with_allocation(reinterpret_cast<const void*>(span.begin), [&](const Allocation& memory) {
    const bool own = memory.base % kPage == 0 && memory.block.capacity % kPage == 0;
    if (memory.origin != Origin::Heap || memory.type == ZE_MEMORY_TYPE_DEVICE || !own) return;
    const uintptr_t end = memory.base + memory.size;
    if (span.end > end) return;
    found.begin = (span.begin + kPage - 1) / kPage * kPage;
    found.end = (span.end == end ? span.end + kPage - 1 : span.end) / kPage * kPage;
  });
  return found;
}

}  // namespace

void AwaitedResults::add(const CommandUse& use) {
  for (const Span& span : use.spans) {
    if (!span.writes || results_.size() == kMost) continue;
    if (!known_memory(reinterpret_cast<const void*>(span.begin)).host_reads) continue;
    if (const Pages pages = whole_pages(span); pages.begin < pages.end) results_.push_back({pages.begin, pages.end, use.name});
  }
}

void AwaitedResults::hold(Ring& ring, uint64_t before, uint64_t until) {
  if (results_.empty() || !start_watching()) return;
  held_observer.store(submitted, std::memory_order_release);
  with_held([&](HeldCommands& held) { held.hold(ring, before, until, results_); });
  let_held_go.store(let_all_go, std::memory_order_release);
}

void let_held_commands_go() {
  if (const auto let_go = let_held_go.load(std::memory_order_acquire)) let_go();
}

void before_call(const char* function) {
  if (pending_touches.load(std::memory_order_acquire)) [[unlikely]]
    report_finished();
  if (!let_held_go.load(std::memory_order_relaxed)) [[likely]]
    return;
  const std::string_view name = function;
  const bool submission = name.starts_with("zeCommandListAppend") || name.starts_with("zeCommandQueueExecute");
  if (!submission && name.starts_with("ze")) let_held_commands_go();
}

void finish_early_reads(uint64_t patience) {
  if (!watching.load()) return;
  let_held_commands_go();
  for (const uint64_t end = now_ns() + patience;;) {
    report_finished();
    if (!with_held([](HeldCommands& held) { return held.has_touches(); }) || now_ns() >= end) return;
    const timespec pause = {0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace anyzero
