// The components of a device that monitoring tools enumerate. They are created at the first query and never freed.
#pragma once

#include <vector>

#include "../abi/gen/ze_api.h"
#include "../abi/properties.h"

namespace anyzero {

class Device;
class SysmanEngine;
class SysmanFan;
class SysmanFirmware;
class SysmanFrequency;
class SysmanMemory;
class SysmanPower;
class SysmanRas;
class SysmanTemperature;

struct SysmanParts {
  std::vector<SysmanEngine*> engines;
  std::vector<SysmanMemory*> memories;
  std::vector<SysmanFrequency*> frequencies;
  std::vector<SysmanPower*> powers;
  std::vector<SysmanTemperature*> temperatures;
  std::vector<SysmanFan*> fans;
  std::vector<SysmanFirmware*> firmwares;
  std::vector<SysmanRas*> error_sets;

  // The components of the device, or of a tile's parent device.
  static const SysmanParts& of(Device& device);
};

// The result if a system file that was found before has become unreadable.
ze_result_t unreadable(const char* what, int error);

// Whether a component belongs to a tile, and to which.
void place(const Device& device, ze_bool_t* on_subdevice, uint32_t* subdevice);

// A structure of system management in a pNext chain; its types are numbered separately from the core API's.
template <class T>
T* find_sysman(const void* chain, zes_structure_type_t stype) {
  return static_cast<T*>(const_cast<void*>(find_next(chain, static_cast<uint32_t>(stype))));
}

// The image of a core API property that the planner always describes; zeros if it did not.
template <class T>
T described(const Properties& properties, ze_structure_type_t stype) {
  const T* found = properties.get<T>(static_cast<uint32_t>(stype));
  return found ? *found : T{};
}

}  // namespace anyzero
