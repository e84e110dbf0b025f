// A command queue: a ring bound to one engine of a device. An NPU's compute queue has as many rings as it has jobs that have not
// ended, so that these run beside each other, unless it was made to keep them in order.
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

// What a queue descriptor asks for, checked. Queues and immediate lists share it.
struct QueueChoice {
  uint32_t ordinal;
  uint32_t index;
  ze_command_queue_flags_t flags;
  ze_command_queue_mode_t mode;
  ze_command_queue_priority_t priority;
  bool spread;  // what is submitted at once is a job of its own, in no order with others

  static ze_result_t check(Context& context, Device& device, const ze_command_queue_desc_t* desc, QueueChoice* choice);
  Ring* make_ring(Context& context, Device& device) const;
  // How urgent its commands are.
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
  // Those that there are now. They stay for as long as the queue.
  std::vector<Ring*> rings();

  // Whether its jobs wait for those of all other queues.
  void set_background(bool background);

  CommandQueue(Context& context, Device& device, const QueueChoice& choice);
  ~CommandQueue();

 private:
  // A ring that is idle, if there is one or another can be made; else the one with the least to do.
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

// Puts `lists` on `ring`, which stays there, as one command with optional waits and signal, then (if given) the fence. Shared with
// immediate lists.
ze_result_t execute_on(Ring& ring, bool copy_only, uint32_t count, CommandList* const* lists, Fence* fence, Event* signal,
                       uint32_t n_waits, Event* const* waits, uint64_t* position);

}  // namespace anyzero
