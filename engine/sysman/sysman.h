// System management: the queries of monitoring tools to drivers and devices. The handles are those of the core API, so core handles
// are valid here, with or without ZES_ENABLE_SYSMAN=1.
#pragma once

#include "../abi/gen/ze_api.h"

namespace anyzero {

class Device;
class Driver;

struct SysmanGlobal {
  static ze_result_t init(zes_init_flags_t flags);
};

// Threading: any thread.
struct SysmanDriver {
  static ze_result_t get(uint32_t* count, zes_driver_handle_t* handles);
  static ze_result_t getExtensionProperties(Driver& driver, uint32_t* count, zes_driver_extension_properties_t* properties);
  static ze_result_t getExtensionFunctionAddress(Driver& driver, const char* name, void** address);
  static ze_result_t eventListen(Driver& driver, uint32_t timeout, uint32_t count, Device* const* devices, uint32_t* sources,
                                 zes_event_type_flags_t* events);
  static ze_result_t eventListenEx(Driver& driver, uint64_t timeout, uint32_t count, Device* const* devices, uint32_t* sources,
                                   zes_event_type_flags_t* events);
  static ze_result_t getDeviceByUuidExp(Driver& driver, zes_uuid_t uuid, zes_device_handle_t* device, ze_bool_t* on_subdevice,
                                        uint32_t* subdevice);
};

// A tile represents its parent device. Threading: any thread.
struct SysmanDevice {
  static ze_result_t get(Driver& driver, uint32_t* count, zes_device_handle_t* handles);
  static ze_result_t getProperties(Device& device, zes_device_properties_t* properties);
  static ze_result_t getSubDevicePropertiesExp(Device& device, uint32_t* count, zes_subdevice_exp_properties_t* properties);
  static ze_result_t getState(Device& device, zes_device_state_t* state);
  static ze_result_t processesGetState(Device& device, uint32_t* count, zes_process_state_t* processes);
  static ze_result_t pciGetProperties(Device& device, zes_pci_properties_t* properties);
  static ze_result_t pciGetState(Device& device, zes_pci_state_t* state);
  static ze_result_t pciGetBars(Device& device, uint32_t* count, zes_pci_bar_properties_t* bars);
  static ze_result_t eccAvailable(Device& device, ze_bool_t* available);
  static ze_result_t eccConfigurable(Device& device, ze_bool_t* configurable);
  static ze_result_t getEccState(Device& device, zes_device_ecc_properties_t* state);
  static ze_result_t setEccState(Device& device, const zes_device_ecc_desc_t* wanted, zes_device_ecc_properties_t* state);
  static ze_result_t eventRegister(Device& device, zes_event_type_flags_t events);

  // Unsupported operations of a processor, and counters that the system does not keep.
  static ze_result_t reset(Device& device, ze_bool_t force);
  static ze_result_t resetExt(Device& device, zes_reset_properties_t* properties);
  static ze_result_t pciGetStats(Device& device, zes_pci_stats_t* stats);
  static ze_result_t pciLinkSpeedUpdateExt(Device& device, ze_bool_t downgrade, zes_device_action_t* action);
  static ze_result_t getCardPowerDomain(Device& device, zes_pwr_handle_t* domain);
  static ze_result_t setOverclockWaiver(Device& device);
  static ze_result_t getOverclockDomains(Device& device, uint32_t* domains);
  static ze_result_t getOverclockControls(Device& device, zes_overclock_domain_t domain, uint32_t* controls);
  static ze_result_t resetOverclockSettings(Device& device, ze_bool_t shipped);
  static ze_result_t readOverclockState(Device& device, zes_overclock_mode_t* mode, ze_bool_t* waiver, ze_bool_t* state,
                                        zes_pending_action_t* action, ze_bool_t* reset);

  static ze_result_t enumEngineGroups(Device& device, uint32_t* count, zes_engine_handle_t* engines);
  static ze_result_t enumMemoryModules(Device& device, uint32_t* count, zes_mem_handle_t* memories);
  static ze_result_t enumFrequencyDomains(Device& device, uint32_t* count, zes_freq_handle_t* domains);
  static ze_result_t enumPowerDomains(Device& device, uint32_t* count, zes_pwr_handle_t* domains);
  static ze_result_t enumTemperatureSensors(Device& device, uint32_t* count, zes_temp_handle_t* sensors);
  static ze_result_t enumFans(Device& device, uint32_t* count, zes_fan_handle_t* fans);
  static ze_result_t enumFirmwares(Device& device, uint32_t* count, zes_firmware_handle_t* firmwares);
  static ze_result_t enumRasErrorSets(Device& device, uint32_t* count, zes_ras_handle_t* sets);

  // Components that no processor has. Tools enumerate all of these and take an error for a broken driver.
  static ze_result_t enumDiagnosticTestSuites(Device& device, uint32_t* count, zes_diag_handle_t* suites);
  static ze_result_t enumFabricPorts(Device& device, uint32_t* count, zes_fabric_port_handle_t* ports);
  static ze_result_t enumLeds(Device& device, uint32_t* count, zes_led_handle_t* leds);
  static ze_result_t enumPerformanceFactorDomains(Device& device, uint32_t* count, zes_perf_handle_t* domains);
  static ze_result_t enumPsus(Device& device, uint32_t* count, zes_psu_handle_t* psus);
  static ze_result_t enumSchedulers(Device& device, uint32_t* count, zes_sched_handle_t* schedulers);
  static ze_result_t enumStandbyDomains(Device& device, uint32_t* count, zes_standby_handle_t* domains);
  static ze_result_t enumOverclockDomains(Device& device, uint32_t* count, zes_overclock_handle_t* domains);
  static ze_result_t enumActiveVFExp(Device& device, uint32_t* count, zes_vf_handle_t* functions);
  static ze_result_t enumEnabledVFExp(Device& device, uint32_t* count, zes_vf_handle_t* functions);
};

}  // namespace anyzero
