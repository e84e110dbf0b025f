// Engine groups and their active time, for monitoring tools.
#pragma once

#include <vector>

#include "../abi/handle.h"
#include "../system/mutex.h"

namespace anyzero {

class Device;
class Engine;

// Threading: any thread. Lives as long as the process.
class SysmanEngine : public Object<SysmanEngine, Kind::SysmanEngine> {
 public:
  ze_result_t getProperties(zes_engine_properties_t* properties);
  ze_result_t getActivity(zes_engine_stats_t* stats);
  ze_result_t getActivityExt(uint32_t* count, zes_engine_stats_t* stats);

  // All engine groups of a device and of its tiles.
  static std::vector<SysmanEngine*> of(Device& root);

  SysmanEngine(Device& device, zes_engine_group_t type) : device_(device), type_(type) {}

 private:
  // The last reported values: they increase monotonically, and never faster than time.
  struct Told {
    uint64_t active = 0;
    uint64_t worked = 0;
    uint64_t time = 0;
  };

  static void list(Device& device, std::vector<SysmanEngine*>* groups);
  void add(Device& device, bool compute, bool copy);
  uint64_t worked(uint64_t now) const;

  Device& device_;
  zes_engine_group_t type_;
  std::vector<Device*> devices_;
  std::vector<Engine*> engines_;
  Guarded<Told> told_;
};

}  // namespace anyzero
