#include "parts.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "../abi/error.h"
#include "../objects/devices/device.h"
#include "../system/mutex.h"
#include "board.h"
#include "engine.h"
#include "memory.h"
#include "sensors.h"
#include "sysman.h"

namespace anyzero {

namespace {

constexpr size_t kMostDevices = 64;
std::atomic<const SysmanParts*> made[kMostDevices];  // by Device::index()
Mutex making;

}  // namespace

const SysmanParts& SysmanParts::of(Device& device) {
  Device& root = device.parent() ? *device.parent() : device;
  auto& place = made[root.index()];
  if (const SysmanParts* parts = place.load(std::memory_order_acquire)) return *parts;
  std::lock_guard lock(making);
  if (const SysmanParts* parts = place.load(std::memory_order_acquire)) return *parts;
  const SystemFiles files;
  auto* parts = new SysmanParts{
      .engines = SysmanEngine::of(root),
      .memories = SysmanMemory::of(root),
      .frequencies = SysmanFrequency::find(files),
      .powers = SysmanPower::find(files),
      .temperatures = SysmanTemperature::find(files),
      .fans = SysmanFan::find(files),
      .firmwares = SysmanFirmware::find(files),
      .error_sets = SysmanRas::find(files),
  };
  place.store(parts, std::memory_order_release);
  return *parts;
}

ze_result_t unreadable(const char* what, int error) {
  const bool forbidden = error == EACCES || error == EPERM;
  return fail(forbidden ? ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS : ZE_RESULT_ERROR_NOT_AVAILABLE,
              "the system no longer reports %s: %s", what, std::strerror(error));
}

void place(const Device& device, ze_bool_t* on_subdevice, uint32_t* subdevice) {
  const auto core = described<ze_device_properties_t>(device.properties(), ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
  *on_subdevice = device.parent() != nullptr;
  *subdevice = device.parent() ? core.subdeviceId : 0;
}

ze_result_t SysmanDevice::enumEngineGroups(Device& device, uint32_t* count, zes_engine_handle_t* engines) {
  return list_handles(SysmanParts::of(device).engines, count, engines);
}

ze_result_t SysmanDevice::enumMemoryModules(Device& device, uint32_t* count, zes_mem_handle_t* memories) {
  return list_handles(SysmanParts::of(device).memories, count, memories);
}

ze_result_t SysmanDevice::enumFrequencyDomains(Device& device, uint32_t* count, zes_freq_handle_t* domains) {
  return list_handles(SysmanParts::of(device).frequencies, count, domains);
}

ze_result_t SysmanDevice::enumPowerDomains(Device& device, uint32_t* count, zes_pwr_handle_t* domains) {
  return list_handles(SysmanParts::of(device).powers, count, domains);
}

ze_result_t SysmanDevice::enumTemperatureSensors(Device& device, uint32_t* count, zes_temp_handle_t* sensors) {
  return list_handles(SysmanParts::of(device).temperatures, count, sensors);
}

ze_result_t SysmanDevice::enumFans(Device& device, uint32_t* count, zes_fan_handle_t* fans) {
  return list_handles(SysmanParts::of(device).fans, count, fans);
}

ze_result_t SysmanDevice::enumFirmwares(Device& device, uint32_t* count, zes_firmware_handle_t* firmwares) {
  return list_handles(SysmanParts::of(device).firmwares, count, firmwares);
}

ze_result_t SysmanDevice::enumRasErrorSets(Device& device, uint32_t* count, zes_ras_handle_t* sets) {
  return list_handles(SysmanParts::of(device).error_sets, count, sets);
}

}  // namespace anyzero
