// Drivers, and the start-up that creates them.
#pragma once

#include <string>
#include <vector>

#include "../../abi/handle.h"
#include "../../abi/properties.h"
#include "../../layouts/gen/description.h"

namespace anyzero {

class Context;
class Device;

// Threading: any thread. Drivers live as long as the process.
class Driver : public Object<Driver, Kind::Driver> {
 public:
  static ze_result_t get(uint32_t* count, ze_driver_handle_t* handles);
  ze_result_t getApiVersion(ze_api_version_t* version);
  ze_result_t getProperties(ze_driver_properties_t* properties);
  ze_result_t getIpcProperties(ze_driver_ipc_properties_t* properties);
  ze_result_t getExtensionProperties(uint32_t* count, ze_driver_extension_properties_t* properties);
  ze_result_t getExtensionFunctionAddress(const char* name, void** address);
  ze_result_t getLastErrorDescription(const char** text);
  ze_context_handle_t getDefaultContext();

  DriverKind kind() const { return kind_; }
  // The devices that a program sees, and all devices; tiles are reached through their devices.
  const std::vector<Device*>& devices() const { return devices_; }
  const std::vector<Device*>& cards() const { return cards_; }
  Context* default_context() const { return default_context_; }

  Driver(DriverKind kind, Properties properties, std::vector<ze_driver_extension_properties_t> extensions)
      : kind_(kind), properties_(std::move(properties)), extensions_(std::move(extensions)) {}

 private:
  friend class Description;
  friend class Visibility;
  DriverKind kind_;
  Properties properties_;
  std::vector<ze_driver_extension_properties_t> extensions_;
  std::vector<Device*> cards_;
  std::vector<Device*> devices_;
  Context* default_context_ = nullptr;
};

// The zer functions, which use the first driver with a device.
struct RuntimeGlobal {
  static ze_result_t getLastErrorDescription(const char** text);
  static uint32_t translateDeviceHandleToIdentifier(Device& device);
  static ze_device_handle_t translateIdentifierToDeviceHandle(uint32_t identifier);
  static ze_context_handle_t getDefaultContext();
};

struct Global {
  // Every driver, also one whose devices are all hidden: for system management, which hides none.
  static ze_result_t list_all(uint32_t* count, ze_driver_handle_t* handles);
  static ze_result_t init(ze_init_flags_t flags);
  static ze_result_t initDrivers(uint32_t* count, ze_driver_handle_t* handles, ze_init_driver_type_desc_t* desc);
};

}  // namespace anyzero
