// Device controls that a processor does not support, and ECC, which cannot be switched.
#include "../abi/error.h"
#include "../objects/devices/device.h"
#include "board.h"
#include "parts.h"
#include "sysman.h"

namespace anyzero {

namespace {

ze_result_t no_reset() {
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "a processor cannot be reset; a lost queue or list is replaced by a new one");
}

ze_result_t no_overclocking() { return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "this device cannot be overclocked"); }

bool corrects_errors(Device& device) { return !SysmanParts::of(device).error_sets.empty(); }

}  // namespace

// The kernel counts memory errors only with ECC memory.
ze_result_t SysmanDevice::eccAvailable(Device& device, ze_bool_t* available) {
  *available = corrects_errors(device);
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanDevice::eccConfigurable(Device&, ze_bool_t* configurable) {
  *configurable = false;
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanDevice::getEccState(Device& device, zes_device_ecc_properties_t* state) {
  state->currentState = state->pendingState =
      corrects_errors(device) ? ZES_DEVICE_ECC_STATE_ENABLED : ZES_DEVICE_ECC_STATE_UNAVAILABLE;
  state->pendingAction = ZES_DEVICE_ACTION_NONE;
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanDevice::setEccState(Device&, const zes_device_ecc_desc_t*, zes_device_ecc_properties_t*) {
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the machine's firmware decides whether memory corrects errors");
}

ze_result_t SysmanDevice::reset(Device&, ze_bool_t) { return no_reset(); }
ze_result_t SysmanDevice::resetExt(Device&, zes_reset_properties_t*) { return no_reset(); }

ze_result_t SysmanDevice::pciGetStats(Device&, zes_pci_stats_t*) {
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the traffic of a processor is not counted; zesDevicePciGetProperties says so");
}

ze_result_t SysmanDevice::pciLinkSpeedUpdateExt(Device&, ze_bool_t, zes_device_action_t*) {
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "a processor has no PCI link of its own");
}

ze_result_t SysmanDevice::getCardPowerDomain(Device&, zes_pwr_handle_t* domain) {
  *domain = nullptr;
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
              "a processor is not on a card; zesDeviceEnumPowerDomains lists the power domains");
}

ze_result_t SysmanDevice::setOverclockWaiver(Device&) { return no_overclocking(); }

ze_result_t SysmanDevice::getOverclockDomains(Device&, uint32_t* domains) {
  *domains = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanDevice::getOverclockControls(Device&, zes_overclock_domain_t, uint32_t*) { return no_overclocking(); }
ze_result_t SysmanDevice::resetOverclockSettings(Device&, ze_bool_t) { return no_overclocking(); }

ze_result_t SysmanDevice::readOverclockState(Device&, zes_overclock_mode_t*, ze_bool_t*, ze_bool_t*, zes_pending_action_t*,
                                             ze_bool_t*) {
  return no_overclocking();
}

}  // namespace anyzero
