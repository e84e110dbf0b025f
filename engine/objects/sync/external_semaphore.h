// External semaphores, which programs create outside of the driver and share between processes: an eventfd, or a number in memory.
#pragma once

#include "../../abi/handle.h"
#include "../../system/signal.h"
#include "../devices/device.h"

namespace anyzero {

class Event;
class EventPool;

// Threading: any thread of any process.
class ExternalSemaphore : public Object<ExternalSemaphore, Kind::ExternalSemaphore> {
 public:
  // Binary: an eventfd. A signal adds one; a wait ends by reading it, which takes one or all, as the eventfd was created.
  // Timeline: a file in memory that begins with a Signal. Its value only grows; a wait ends when it has reached the value asked
  // for.
  enum class Type { Binary, Timeline };

  static ze_result_t import(Device& device, const ze_external_semaphore_ext_desc_t* desc,
                            ze_external_semaphore_ext_handle_t* handle);

  Type type() const { return type_; }
  int fd() const { return fd_; }
  Device& device() const { return device_; }
  // Waits for a timeline use an event with the semaphore's counter.
  Event& timeline() const { return *timeline_; }

  // Neither blocks nor fails: a full semaphore stays full.
  void signal(uint64_t value);

  // Adopts the descriptor.
  ExternalSemaphore(Device& device, Type type, int fd, Ref<Event> timeline);
  ~ExternalSemaphore();

 private:
  Device& device_;
  const Type type_;
  const int fd_;
  Ref<Event> timeline_;
};

}  // namespace anyzero
