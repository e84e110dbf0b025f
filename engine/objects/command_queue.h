// A command queue: a ring bound to one engine of a device.
#pragma once

#include "../abi/handle.h"
#include "../exec/ring.h"
#include "context.h"
#include "device.h"

namespace anyzero {

class CommandList;
class Fence;
class Event;

// What a queue descriptor asks for, checked. Queues and immediate lists share it.
struct QueueChoice {
  uint32_t ordinal;
  uint32_t index;
  ze_command_queue_flags_t flags;
  ze_command_queue_mode_t mode;
  ze_command_queue_priority_t priority;

  static ze_result_t check(Context& context, Device& device, const ze_command_queue_desc_t* desc, QueueChoice* choice);
  Ring* make_ring(Context& context, Device& device) const;
};

// Threading: any thread may submit.
class CommandQueue : public Object<CommandQueue, Kind::CommandQueue> {
 public:
  static ze_result_t create(Context& context, Device& device, const ze_command_queue_desc_t* desc,
                            ze_command_queue_handle_t* handle);
  ze_result_t destroy();
  ze_result_t executeCommandLists(uint32_t count, CommandList* const* lists, Fence* fence);
  ze_result_t synchronize(uint64_t timeout);
  ze_result_t getOrdinal(uint32_t* ordinal);
  ze_result_t getIndex(uint32_t* index);
  ze_result_t getFlags(ze_command_queue_flags_t* flags);
  ze_result_t getMode(ze_command_queue_mode_t* mode);
  ze_result_t getPriority(ze_command_queue_priority_t* priority);

  Ring& ring() const { return *ring_; }

  CommandQueue(Context& context, Device& device, const QueueChoice& choice)
      : choice_(choice), ring_(choice.make_ring(context, device)) {}
  ~CommandQueue() { ring_->release(); }

 private:
  QueueChoice choice_;
  Ring* ring_;
};

// Puts `lists` on `ring` as one command with optional waits and signal, then (if given) the fence. Shared with immediate lists.
ze_result_t execute_on(Ring& ring, bool copy_only, uint32_t count, CommandList* const* lists, Fence* fence, Event* signal,
                       uint32_t n_waits, Event* const* waits, uint64_t* position);

}  // namespace anyzero
