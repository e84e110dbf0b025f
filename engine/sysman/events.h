// System management events: registration per device, and waiting for them. A device is polled only while a thread listens; that
// thread polls by itself, and sleeps in between without any lock.
#pragma once

#include "../abi/gen/ze_api.h"

namespace anyzero {

class Device;
class Driver;

struct SysmanEvents {
  // Replaces the earlier registration.
  static void want(Device& root, zes_event_type_flags_t events);
  // `milliseconds` may be UINT64_MAX for no timeout.
  static ze_result_t listen(Driver& driver, uint64_t milliseconds, uint32_t count, Device* const* devices, uint32_t* sources,
                            zes_event_type_flags_t* events);
  // Wakes listeners, because the events they wait for may have changed.
  static void changed();
};

}  // namespace anyzero
