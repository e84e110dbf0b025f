#include "use.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "../system/mutex.h"
#include "../system/thread.h"

namespace anyzero {

constinit thread_local UseRecord* use_record __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

std::atomic<UseRecord*> records{nullptr};  // all ever created; never freed

Guarded<std::vector<UseRecord*>>& spare_records() {
  static auto* spare = new Guarded<std::vector<UseRecord*>>;  // leaked: threads outlive static storage
  return *spare;
}

struct Destroyed {
  Header* object;
  void (*release)(Header*);
};

Guarded<std::vector<Destroyed>>& limbo() {
  static auto* limbo = new Guarded<std::vector<Destroyed>>;  // leaked, too
  return *limbo;
}

// The parent's other threads do not exist in a child, so their records are cleared.
void after_fork() {
  for (UseRecord* each = records.load(); each; each = each->next) {
    if (each == use_record) continue;
    for (auto& place : each->used) place.store(nullptr);
    each->waits_for.store(nullptr);
    each->owes.store(false);
  }
}

void leave_record(void* record) {
  use_record = nullptr;
  spare_records().open()->push_back(static_cast<UseRecord*>(record));
}

// Whether a thread other than `except` is inside; such threads are marked to report when they leave.
bool used(const Header* object, const UseRecord* except) {
  bool found = false;
  for (UseRecord* each = records.load(std::memory_order_acquire); each; each = each->next) {
    if (each == except) continue;
    for (const auto& place : each->used) {
      if (place.load(std::memory_order_acquire) != object) continue;
      each->owes.store(true, std::memory_order_relaxed);
      found = true;
    }
  }
  return found;
}

// Moves objects that no thread uses to `free`.
void take_unused(std::vector<Destroyed>& waiting, std::vector<Destroyed>* free) {
  for (size_t i = 0; i < waiting.size();) {
    if (used(waiting[i].object, nullptr)) {
      ++i;
      continue;
    }
    free->push_back(waiting[i]);
    waiting[i] = waiting.back();
    waiting.pop_back();
  }
}

}  // namespace

UseRecord* introduce_user() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, leave_record);
    at_fork_child(after_fork);
    return made;
  }();
  UseRecord* record = nullptr;
  if (auto open = spare_records().open(); !open->empty()) {
    record = open->back();
    open->pop_back();
  }
  if (!record) {
    record = new UseRecord;
    record->next = records.load(std::memory_order_relaxed);
    while (!records.compare_exchange_weak(record->next, record, std::memory_order_release)) continue;
  }
  pthread_setspecific(key, record);
  return use_record = record;
}

void note_user(Header& object, UseRecord& user) {
  if (object.user.load(std::memory_order_relaxed) == many_users()) return;
  const UseRecord* nobody = nullptr;
  // Both are full barriers, so either this thread or the destroying thread sees the other's store.
  if (!object.user.compare_exchange_strong(nobody, &user, std::memory_order_seq_cst))
    object.user.exchange(many_users(), std::memory_order_seq_cst);
}

void barrier_everywhere() {
  // If membarrier is missing or forbidden, a race window of nanoseconds remains.
  static const bool registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  if (registered) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

void release_when_unused(Header& object, void (*release)(Header*)) {
  const UseRecord* user = object.user.load(std::memory_order_seq_cst);
  if (user == nullptr || user == use_record) return release(&object);
  barrier_everywhere();
  if (!used(&object, use_record)) return release(&object);
  limbo().open()->push_back({&object, release});
  // The threads may have left before they were marked.
  barrier_everywhere();
  let_go_of_destroyed();
}

void let_go_of_destroyed() {
  if (use_record) use_record->owes.store(false, std::memory_order_relaxed);
  std::vector<Destroyed> free;
  {
    auto waiting = limbo().open();
    take_unused(*waiting, &free);
    if (!waiting->empty()) {
      barrier_everywhere();
      take_unused(*waiting, &free);
    }
  }
  for (const Destroyed& each : free) each.release(each.object);
}

void end_solitude(Header& object) {
  object.user.exchange(many_users(), std::memory_order_seq_cst);
  barrier_everywhere();
  auto inside = [&](const UseRecord& user) {
    if (user.waits_for.load(std::memory_order_acquire) == &object) return false;
    for (const auto& place : user.used)
      if (place.load(std::memory_order_acquire) == &object) return true;
    return false;
  };
  for (UseRecord* each = records.load(std::memory_order_acquire); each; each = each->next)
    while (each != use_record && inside(*each)) sched_yield();
}

}  // namespace anyzero
