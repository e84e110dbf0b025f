#include "sysman.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "../abi/error.h"
#include "../objects/devices/device.h"
#include "../objects/devices/driver.h"
#include "../objects/memory/allocation.h"
#include "../objects/memory/memory.h"
#include "engine.h"
#include "memory.h"
#include "parts.h"
#include "sensors.h"

namespace anyzero {

namespace {

std::atomic<bool> initialized{false};

// All types of drivers, whatever the program passed to zeInit: that only affects zeDriverGet.
ze_result_t all_drivers(uint32_t* count, ze_driver_handle_t* handles) { return Global::list_all(count, handles); }

Device& root_of(Device& device) { return device.parent() ? *device.parent() : device; }

// Truncates at a character boundary.
void copy_text(char (&to)[ZES_STRING_PROPERTY_SIZE], const char* text) {
  size_t size = strnlen(text, sizeof to);
  if (size == sizeof to) {
    --size;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  }
  std::memset(to, 0, sizeof to);
  std::memcpy(to, text, size);
}

zes_uuid_t uuid_of(const Device& device) {
  const auto core = described<ze_device_properties_t>(device.properties(), ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
  zes_uuid_t uuid;
  static_assert(sizeof uuid == sizeof core.uuid);
  std::memcpy(&uuid, &core.uuid, sizeof uuid);
  return uuid;
}

ze_result_t none(uint32_t* count) {
  *count = 0;
  return ZE_RESULT_SUCCESS;
}

constexpr zes_pci_speed_t kUnknownSpeed{-1, -1, -1};

}  // namespace

ze_result_t SysmanGlobal::init(zes_init_flags_t) {
  uint32_t count = 0;
  if (ze_result_t r = all_drivers(&count, nullptr)) return r;
  initialized.store(true, std::memory_order_release);
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanDriver::get(uint32_t* count, zes_driver_handle_t* handles) {
  if (!initialized.load(std::memory_order_acquire)) return fail(ZE_RESULT_ERROR_UNINITIALIZED, "call zesInit first");
  return all_drivers(count, handles);
}

ze_result_t SysmanDriver::getExtensionProperties(Driver&, uint32_t* count, zes_driver_extension_properties_t* properties) {
  static constexpr zes_driver_extension_properties_t kExtensions[] = {
      {ZES_SYSMAN_DEVICE_MAPPING_EXP_NAME, ZES_SYSMAN_DEVICE_MAPPING_EXP_VERSION_CURRENT},
      {ZES_ENGINE_ACTIVITY_EXT_NAME, ZES_ENGINE_ACTIVITY_EXT_VERSION_CURRENT},
      {ZES_POWER_LIMITS_EXT_NAME, ZES_POWER_LIMITS_EXT_VERSION_CURRENT},
  };
  constexpr uint32_t kCount = std::size(kExtensions);
  if (!properties || *count == 0) {
    *count = kCount;
    return ZE_RESULT_SUCCESS;
  }
  *count = std::min(*count, kCount);
  std::copy_n(kExtensions, *count, properties);
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanDriver::getExtensionFunctionAddress(Driver& driver, const char* name, void** address) {
  return driver.getExtensionFunctionAddress(name, address);
}

ze_result_t SysmanDriver::getDeviceByUuidExp(Driver& driver, zes_uuid_t uuid, zes_device_handle_t* handle, ze_bool_t* on_subdevice,
                                             uint32_t* subdevice) {
  auto is_it = [&](const Device& device) {
    const zes_uuid_t other = uuid_of(device);
    return std::memcmp(&other, &uuid, sizeof uuid) == 0;
  };
  auto found = [&](Device& device) {
    *handle = handle_of<zes_device_handle_t>(&root_of(device));
    place(device, on_subdevice, subdevice);
    return ZE_RESULT_SUCCESS;
  };
  for (Device* device : driver.cards()) {
    if (is_it(*device)) return found(*device);
    for (Device* tile : device->tiles())
      if (is_it(*tile)) return found(*tile);
  }
  return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no device of this driver has that UUID");
}

ze_result_t SysmanDevice::get(Driver& driver, uint32_t* count, zes_device_handle_t* handles) {
  return list_handles(driver.cards(), count, handles);
}

ze_result_t SysmanDevice::getProperties(Device& device, zes_device_properties_t* properties) {
  Device& root = root_of(device);
  // The embedded structure has its own pNext, which many programs leave uninitialised.
  ze_device_properties_t core{};
  core.stype = properties->core.stype;
  root.properties().fill(&core, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
  core.pNext = properties->core.pNext;
  properties->core = core;
  properties->numSubdevices = static_cast<uint32_t>(root.tiles().size());
  copy_text(properties->serialNumber, "unknown");
  copy_text(properties->boardNumber, "unknown");
  copy_text(properties->brandName, "unknown");
  copy_text(properties->modelName, core.name);
  copy_text(properties->vendorName, "anyzero");
  ze_driver_properties_t driver{};
  root.driver().getProperties(&driver);
  char version[32];
  std::snprintf(version, sizeof version, "%u.%u.%u", driver.driverVersion >> 24, driver.driverVersion >> 16 & 0xFF,
                driver.driverVersion & 0xFFFF);
  copy_text(properties->driverVersion, version);
  if (auto* extended = find_sysman<zes_device_ext_properties_t>(properties->pNext, ZES_STRUCTURE_TYPE_DEVICE_EXT_PROPERTIES)) {
    extended->uuid = uuid_of(root);
    // Both enumerations have the core API's values.
    extended->type = static_cast<zes_device_type_t>(core.type);
    extended->flags = core.flags;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanDevice::getSubDevicePropertiesExp(Device& device, uint32_t* count, zes_subdevice_exp_properties_t* properties) {
  const auto& tiles = root_of(device).tiles();
  const uint32_t available = static_cast<uint32_t>(tiles.size());
  if (!properties || *count == 0) {
    *count = available;
    return ZE_RESULT_SUCCESS;
  }
  *count = std::min(*count, available);
  for (uint32_t i = 0; i < *count; ++i) {
    ze_bool_t on_subdevice;
    place(*tiles[i], &on_subdevice, &properties[i].subdeviceId);
    properties[i].uuid = uuid_of(*tiles[i]);
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanDevice::getState(Device&, zes_device_state_t* state) {
  state->reset = 0;
  state->repaired = ZES_REPAIR_STATUS_UNSUPPORTED;
  return ZE_RESULT_SUCCESS;
}

// Each process has its own accounting, so only this process is reported.
ze_result_t SysmanDevice::processesGetState(Device& device, uint32_t* count, zes_process_state_t* processes) {
  Device& root = root_of(device);
  sweep_deferred_frees();
  const uint64_t used = root.memory_used();
  uint64_t shared = 0;
  Allocations::each_in(nullptr, SIZE_MAX, [&](const Allocation& allocation) {
    const bool of_others = allocation.origin == Origin::Ipc || allocation.origin == Origin::Descriptor || allocation.exported;
    if (of_others && allocation.device && allocation.device->is_or_is_tile_of(root)) shared += allocation.size;
    return true;
  });
  zes_engine_type_flags_t engines = 0;
  auto look = [&](Device& at) {
    at.each_ring([&](const Ring& ring) {
      for (const Device::Group& group : at.groups())
        for (const auto& engine : group.engines)
          if (engine.get() == &ring.engine())
            engines |= group.copy_only() ? ZES_ENGINE_TYPE_FLAG_DMA : ZES_ENGINE_TYPE_FLAG_COMPUTE;
    });
  };
  look(root);
  for (Device* tile : root.tiles()) look(*tile);
  if (used == 0 && shared == 0 && engines == 0) return none(count);
  const bool asked = processes && *count > 0;
  *count = 1;
  if (!asked) return ZE_RESULT_SUCCESS;
  processes->processId = static_cast<uint32_t>(getpid());
  processes->memSize = used;
  processes->sharedSize = shared;
  processes->engines = engines;
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanDevice::pciGetProperties(Device& device, zes_pci_properties_t* properties) {
  const auto core = described<ze_pci_ext_properties_t>(root_of(device).properties(), ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES);
  properties->address = {core.address.domain, core.address.bus, core.address.device, core.address.function};
  properties->maxSpeed = kUnknownSpeed;
  properties->haveBandwidthCounters = properties->havePacketCounters = properties->haveReplayCounters = false;
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanDevice::pciGetState(Device&, zes_pci_state_t* state) {
  state->status = ZES_PCI_LINK_STATUS_UNKNOWN;
  state->qualityIssues = state->stabilityIssues = 0;
  state->speed = kUnknownSpeed;
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanDevice::pciGetBars(Device&, uint32_t* count, zes_pci_bar_properties_t*) { return none(count); }

ze_result_t SysmanDevice::enumDiagnosticTestSuites(Device&, uint32_t* count, zes_diag_handle_t*) { return none(count); }
ze_result_t SysmanDevice::enumFabricPorts(Device&, uint32_t* count, zes_fabric_port_handle_t*) { return none(count); }
ze_result_t SysmanDevice::enumLeds(Device&, uint32_t* count, zes_led_handle_t*) { return none(count); }
ze_result_t SysmanDevice::enumPerformanceFactorDomains(Device&, uint32_t* count, zes_perf_handle_t*) { return none(count); }
ze_result_t SysmanDevice::enumPsus(Device&, uint32_t* count, zes_psu_handle_t*) { return none(count); }
ze_result_t SysmanDevice::enumSchedulers(Device&, uint32_t* count, zes_sched_handle_t*) { return none(count); }
ze_result_t SysmanDevice::enumStandbyDomains(Device&, uint32_t* count, zes_standby_handle_t*) { return none(count); }
ze_result_t SysmanDevice::enumOverclockDomains(Device&, uint32_t* count, zes_overclock_handle_t*) { return none(count); }
ze_result_t SysmanDevice::enumActiveVFExp(Device&, uint32_t* count, zes_vf_handle_t*) { return none(count); }
ze_result_t SysmanDevice::enumEnabledVFExp(Device&, uint32_t* count, zes_vf_handle_t*) { return none(count); }

}  // namespace anyzero
