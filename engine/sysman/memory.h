// The memory of a device or of one of its tiles, by the driver's own accounting.
#pragma once

#include <vector>

#include "../abi/handle.h"

namespace anyzero {

class Device;

// Threading: any thread. Lives as long as the process.
class SysmanMemory : public Object<SysmanMemory, Kind::SysmanMemory> {
 public:
  ze_result_t getProperties(zes_mem_properties_t* properties);
  ze_result_t getState(zes_mem_state_t* state);
  ze_result_t getBandwidth(zes_mem_bandwidth_t* bandwidth);

  // One for the device, or one for each of its tiles.
  static std::vector<SysmanMemory*> of(Device& root);

  explicit SysmanMemory(Device& device) : device_(device) {}

 private:
  Device& device_;
};

}  // namespace anyzero
