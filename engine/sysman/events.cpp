#include "events.h"

#include <algorithm>
#include <atomic>

#include "../abi/error.h"
#include "../objects/devices/device.h"
#include "../objects/devices/driver.h"
#include "../system/clock.h"
#include "../system/interpreter_lock.h"
#include "../system/signal.h"
#include "parts.h"
#include "sensors.h"
#include "sysman.h"

namespace anyzero {

namespace {

constexpr size_t kMostDevices = 64;
constexpr uint64_t kLookNs = 100'000'000;  // polling interval of a sensor that can raise an event
constexpr uint64_t kMillisecond = 1'000'000;
constexpr zes_event_type_flags_t kOfTemperature =
    ZES_EVENT_TYPE_FLAG_TEMP_CRITICAL | ZES_EVENT_TYPE_FLAG_TEMP_THRESHOLD1 | ZES_EVENT_TYPE_FLAG_TEMP_THRESHOLD2;

std::atomic<zes_event_type_flags_t> wanted[kMostDevices];  // by Device::index() of the whole device
std::atomic<uint32_t> changes{0};                          // the futex that listeners wait on

Device& root_of(Device& device) { return device.parent() ? *device.parent() : device; }

// Events of a device since the last poll. `again` becomes true if a later poll could find one.
zes_event_type_flags_t look(Device& root, bool* again) {
  const zes_event_type_flags_t want = wanted[root.index()].load(std::memory_order_acquire);
  if (!(want & kOfTemperature)) return 0;
  zes_event_type_flags_t found = 0;
  for (SysmanTemperature* sensor : SysmanParts::of(root).temperatures) {
    *again |= sensor->watched();
    found |= sensor->crossed();
  }
  return found & want;
}

}  // namespace

void SysmanEvents::want(Device& root, zes_event_type_flags_t events) {
  wanted[root.index()].store(events, std::memory_order_release);
  changed();
}

void SysmanEvents::changed() {
  changes.fetch_add(1, std::memory_order_seq_cst);
  futex_wake(&changes, INT32_MAX);
}

ze_result_t SysmanEvents::listen(Driver& driver, uint64_t milliseconds, uint32_t count, Device* const* devices, uint32_t* sources,
                                 zes_event_type_flags_t* events) {
  for (uint32_t i = 0; i < count; ++i)
    if (&devices[i]->driver() != &driver)
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "phDevices[%u] belongs to another driver", i);
  const bool forever = milliseconds == UINT64_MAX;
  const uint64_t start = now_ns(), most = (UINT64_MAX - start) / kMillisecond;
  const uint64_t end = forever ? UINT64_MAX : start + std::min(milliseconds, most) * kMillisecond;
  *sources = 0;
  while (true) {
    const uint32_t seen = changes.load(std::memory_order_seq_cst);
    bool again = false;
    for (uint32_t i = 0; i < count; ++i) {
      events[i] = look(root_of(*devices[i]), &again);
      *sources += events[i] != 0;
    }
    if (*sources > 0) return ZE_RESULT_SUCCESS;
    const uint64_t now = now_ns();
    if (milliseconds == 0 || count == 0 || now >= end) return ZE_RESULT_NOT_READY;
    const uint64_t left = forever ? kForever : end - now;
    const FutexWord word{&changes, seen};
    GilPause pause;
    futex_sleep_any(&word, 1, again ? std::min(left, kLookNs) : left);
  }
}

ze_result_t SysmanDevice::eventRegister(Device& device, zes_event_type_flags_t events) {
  SysmanEvents::want(root_of(device), events);
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanDriver::eventListen(Driver& driver, uint32_t timeout, uint32_t count, Device* const* devices, uint32_t* sources,
                                      zes_event_type_flags_t* events) {
  return SysmanEvents::listen(driver, timeout == UINT32_MAX ? UINT64_MAX : timeout, count, devices, sources, events);
}

ze_result_t SysmanDriver::eventListenEx(Driver& driver, uint64_t timeout, uint32_t count, Device* const* devices, uint32_t* sources,
                                        zes_event_type_flags_t* events) {
  return SysmanEvents::listen(driver, timeout, count, devices, sources, events);
}

}  // namespace anyzero
