// A context: the scope in which memory, queues, lists, events, images and samplers live, for all or some devices of a driver.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "../../abi/handle.h"
#include "../../abi/properties.h"
#include "../../exec/ring.h"
#include "../memory/range_map.h"

namespace anyzero {

class Driver;
class Device;
class Image;

// Threading: any thread.
class Context : public Object<Context, Kind::Context> {
 public:
  static ze_result_t create(Driver& driver, const ze_context_desc_t* desc, ze_context_handle_t* handle);
  static ze_result_t createEx(Driver& driver, const ze_context_desc_t* desc, uint32_t count, Device* const* devices,
                              ze_context_handle_t* handle);
  ze_result_t destroy();
  ze_result_t getStatus();
  ze_result_t systemBarrier(Device& device);
  ze_result_t makeMemoryResident(Device& device, void* pointer, size_t size);
  ze_result_t evictMemory(Device& device, void* pointer, size_t size);
  ze_result_t makeImageResident(Device& device, Image& image);
  ze_result_t evictImage(Device& device, Image& image);

  Driver& driver() const { return driver_; }
  const std::vector<Device*>& devices() const { return devices_; }

  // The specified error, with a text, when `device` is not one of this context's devices or their sub-devices.
  ze_result_t require(const Device& device) const;

  // Records that a queue of this context was lost, for getStatus.
  void mark_lost(const std::string& report);
  // The reason of the last loss; empty without one.
  std::string loss_report();

  // Atomic access attributes of memory that is no allocation of the driver's, by device.
  using SystemAtomics = std::map<const Device*, RangeMap<uint32_t>>;
  Guarded<SystemAtomics>& system_atomics() { return system_atomics_; }

  Context(Driver& driver, std::vector<Device*> devices) : driver_(driver), devices_(std::move(devices)) {}

 private:
  Driver& driver_;  // drivers and devices live as long as the process
  std::vector<Device*> devices_;
  std::atomic<bool> lost_{false};
  Guarded<std::string> loss_report_;
  Guarded<SystemAtomics> system_atomics_;
};

}  // namespace anyzero
