// Waits of the host that can never end.
#pragma once

#include <cstdint>
#include <functional>

#include "../abi/gen/ze_api.h"

namespace anyzero {

class Driver;
class Event;
class Ring;

// The target of a wait of the host: an event or a fence, by its address; or a point of a queue.
struct Awaiting {
  const void* object = nullptr;
  uint64_t queue = 0;
  uint64_t position = 0;
  bool unsure = false;  // others than queues and threads of this process may end the wait
};

// Waits by `wait`, a piece of time after the other, until it is over or nothing can end it any more. That is then reported, and
// NOT_READY is the answer. SUCCESS means that the wait itself may be called: it returns at once, or what it returns is not for us.
ze_result_t wait_if_it_can_end(Driver& driver, const Awaiting& what, const std::function<ze_result_t(uint64_t timeout)>& wait);

}  // namespace anyzero
