// Start the driver, walk over its devices and pick a GPU.
#include "check.h"

int main() {
  CHECK(zeInit(0));

  // Every list of the API takes two calls: the count, then the handles.
  uint32_t driver_count = 0;
  CHECK(zeDriverGet(&driver_count, nullptr));
  std::vector<ze_driver_handle_t> drivers(driver_count);
  CHECK(zeDriverGet(&driver_count, drivers.data()));

  ze_device_handle_t gpu = nullptr;
  for (ze_driver_handle_t driver : drivers) {
    ze_api_version_t version;
    CHECK(zeDriverGetApiVersion(driver, &version));
    std::printf("driver: Level Zero %u.%u\n", ZE_MAJOR_VERSION(version), ZE_MINOR_VERSION(version));

    uint32_t device_count = 0;
    CHECK(zeDeviceGet(driver, &device_count, nullptr));
    std::vector<ze_device_handle_t> devices(device_count);
    CHECK(zeDeviceGet(driver, &device_count, devices.data()));

    for (ze_device_handle_t device : devices) {
      ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
      CHECK(zeDeviceGetProperties(device, &properties));
      std::printf("  device: %s\n", properties.name);
      if (!gpu && properties.type == ZE_DEVICE_TYPE_GPU) gpu = device;
    }
  }
  prove(gpu != nullptr, "%u driver(s), and a device of type GPU among them", driver_count);
}
