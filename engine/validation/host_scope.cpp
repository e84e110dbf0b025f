#include "host_scope.h"

#include <unordered_map>

#include "../abi/handle.h"
#include "../check/finding.h"
#include "../objects/sync/event.h"
#include "../system/mutex.h"
#include "call_site.h"
#include "known_memory.h"

namespace anyzero {

namespace {

struct Result {
  uintptr_t memory;
  const CallSite* written_by;
  uint64_t session;  // of checks: between two of them, another event may get the address
};

// By event: memory that the host may read without a call.
using Results = std::unordered_map<const void*, Result>;

Guarded<Results>& results() {
  static auto* all = new Guarded<Results>;  // leaked: events are destroyed from exit handlers
  return *all;
}

}  // namespace

bool lacks_host_scope(ze_event_handle_t handle) {
  if (!is_checked(kCheckStrict)) return false;
  auto* event = checked<Event>(handle);
  return event && !event->counts() && !((event->signal_scope() | event->wait_scope()) & ZE_EVENT_SCOPE_FLAG_HOST) &&
         (event->pool().flags() & ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
}

void note_result(ze_event_handle_t event, const void* memory) {
  if (!lacks_host_scope(event) || !known_memory(memory).host_reads) return;
  const CallSite* site = current_call_site();
  (*results().open())[event] = {reinterpret_cast<uintptr_t>(memory), site, check_sessions.load(std::memory_order_relaxed)};
}

void check_host_scope(ze_result_t result, ze_event_handle_t event) {
  if (result != ZE_RESULT_SUCCESS || !lacks_host_scope(event)) return;
  Result found;
  {
    auto all = results().open();
    const auto at = all->find(event);
    if (at == all->end() || at->second.session != check_sessions.load(std::memory_order_relaxed)) return;
    found = at->second;
  }
  const uint64_t place = CallPlace().number;
  if (seen(Rule::MissingHostScope, place)) return;
  char where[256];
  describe_address(found.memory, where, sizeof where);
  report({Rule::MissingHostScope, place, "the host waits for a result by an event that has no host scope", "", "", "", where,
          "the command was appended by " + found.written_by->text()});
}

void forget_results(const void* event) {
  if (is_checked(kCheckStrict) && event) results().open()->erase(event);
}

}  // namespace anyzero
