// A command queue: a ring bound to one engine of a device. An NPU's compute queue has a ring for each unfinished job, so that jobs
// run concurrently, unless the queue was created in order.
#pragma once

#include <vector>

#include "../../abi/handle.h"
#include "../../exec/ring.h"
#include "../../system/mutex.h"
#include "../devices/context.h"
#include "../devices/device.h"

namespace anyzero {

class CommandList;
class Fence;
class Event;

// The checked contents of a queue descriptor, for queues and immediate lists.
struct QueueChoice {
  uint32_t ordinal;
  uint32_t index;
  ze_command_queue_flags_t flags;
  ze_command_queue_mode_t mode;
  ze_command_queue_priority_t priority;
  bool spread;  // each submission is a job without an order among others

  static ze_result_t check(Context& context, Device& device, const ze_command_queue_desc_t* desc, QueueChoice* choice);
  Ring* make_ring(Context& context, Device& device) const;
  // The priority of its ring.
  uint32_t rank() const;
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

  Context& context() const { return *context_; }
  // The current rings. They live as long as the queue.
  std::vector<Ring*> rings();
  // nullptr if it has several.
  Ring* only_ring() const { return choice_.spread ? nullptr : rings_.front(); }
  // Whether an execution is waited for.
  bool synchronous() const { return choice_.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS; }

  // Makes its jobs run only when no other queue has any, or ends that.
  void set_background(bool background);

  CommandQueue(Context& context, Device& device, const QueueChoice& choice);
  ~CommandQueue();

 private:
  // An idle ring, if there is one or another can be created; otherwise the one with the fewest pending commands.
  Ring& choose_ring() { return choice_.spread ? choose_among_rings() : *rings_.front(); }
  Ring& choose_among_rings();

  Ref<Context> context_;
  Device& device_;
  QueueChoice choice_;
  Mutex mutex_;
  std::vector<Ring*> rings_;  // grows under the lock; a ring stays for as long as the queue
  bool background_ = false;
};

// A list may run where its device, or the device it is a tile of, runs; and only on a queue of its own kind.
ze_result_t check_list(const Device& device, bool copy_only, const CommandList& list);

// Submits `lists` to `ring` as one command with optional waits and signal, then the fence, if given. The caller holds the ring.
// Shared with immediate lists.
ze_result_t execute_on(Ring& ring, bool copy_only, uint32_t count, CommandList* const* lists, Fence* fence, Event* signal,
                       uint32_t n_waits, Event* const* waits, uint64_t* position);

}  // namespace anyzero
