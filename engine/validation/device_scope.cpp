#include "device_scope.h"

#include <string>
#include <utility>
#include <vector>

#include "../abi/handle.h"
#include "../exec/bounds.h"
#include "../objects/devices/device.h"
#include "../objects/devices/driver.h"
#include "../objects/memory/allocation.h"
#include "../objects/sync/event.h"
#include "../system/watched.h"
#include "command_order.h"
#include "commands.h"
#include "hooks.h"

namespace anyzero {

namespace {

// The session of checks in which there may be an event without the scope of a device.
constinit std::atomic<uint64_t> narrow_events{0};

uint64_t this_session() { return check_sessions.load(std::memory_order_relaxed); }

// Commands that were submitted before are not known, and need not be: no event of theirs is narrow.
void follow_if_needed(const Driver& driver) {
  if (!is_checked(kCheckStrict) || follows_devices() || narrow_events.load(std::memory_order_relaxed) != this_session()) return;
  const Device* first = nullptr;
  bool several = false;
  each_ring(driver, [&](const Ring& ring) {
    several = several || (first && first != &ring.device());
    first = &ring.device();
  });
  if (!several) return;
  device_scope_session.store(this_session(), std::memory_order_relaxed);
  watch(kNoted);
}

}  // namespace

void note_earlier_events() {
  if (!is_checked(kCheckStrict)) return;
  narrow_events.store(this_session(), std::memory_order_relaxed);
  uint32_t count = 0;
  if (Driver::get(&count, nullptr) != ZE_RESULT_SUCCESS) return;
  std::vector<ze_driver_handle_t> handles(count);
  if (Driver::get(&count, handles.data()) != ZE_RESULT_SUCCESS) return;
  for (ze_driver_handle_t each : handles)
    if (const auto* driver = checked<Driver>(each)) follow_if_needed(*driver);
}

void note_new_queue(const Driver& driver) { follow_if_needed(driver); }

void after_zeEventCreate(ze_result_t result, ze_event_pool_handle_t pool, const ze_event_desc_t* desc, ze_event_handle_t* made) {
  if (result != ZE_RESULT_SUCCESS) return;
  const auto* event = checked<Event>(*made);
  if (event) note_new_event(*event, pool, desc->index);
  if (!event || !is_checked(kCheckStrict) || follows_devices() || reaches_devices(event->signal_scope() | event->wait_scope()))
    return;
  narrow_events.store(this_session(), std::memory_order_relaxed);
  follow_if_needed(event->driver());
}

void report_invisible(const Race& pair) {
  if (!is_checked(kCheckStrict)) return;
  const CallSite *first = pair.before.command.site, *second = pair.after.command.site;
  const uint64_t place = (first ? first->number : 1) * 31 + (second ? second->number : 1);
  if (seen(Rule::MissingDeviceScope, place)) return;
  char where[256];
  describe_address(pair.address, where, sizeof where);
  Finding finding{Rule::MissingDeviceScope, place, "", "", "", "", where, "the first: " + pair.before.text()};
  finding.message = pair.after.command.text() + " reads memory that " + pair.before.command.text() +
                    " writes on another device, and no event between them has a scope that makes it visible there";
  finding.memory += where_made(reinterpret_cast<const void*>(pair.address));
  if (second) {
    finding.call = second->call;
    finding.caller = second->caller;
  }
  report(std::move(finding));
}

}  // namespace anyzero
