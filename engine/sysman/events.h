// Events of system management: which ones a program wants of a device, and waiting for them. Nothing watches a device while nobody
// listens; a thread that listens looks itself, and sleeps in between without any lock.
#pragma once

#include "../abi/gen/ze_api.h"

namespace anyzero {

class Device;
class Driver;

struct SysmanEvents {
  // Replaces what was asked for before.
  static void want(Device& root, zes_event_type_flags_t events);
  // `milliseconds` may be UINT64_MAX, which has no end.
  static ze_result_t listen(Driver& driver, uint64_t milliseconds, uint32_t count, Device* const* devices, uint32_t* sources,
                            zes_event_type_flags_t* events);
  // Wakes listeners, because the events they wait for may have changed.
  static void changed();
};

}  // namespace anyzero
