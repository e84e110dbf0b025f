#include "board.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../abi/error.h"
#include "../objects/modules/text.h"
#include "parts.h"

namespace anyzero {

namespace {

constexpr char kNoFanControl[] = "the board controls the speed of this fan; it can only be read";
constexpr char kNoFirmwareControl[] = "the operating system updates microcode; its version can only be read";
constexpr char kNoThresholds[] = "memory errors are counted but have no thresholds; zesRasGetState returns the counts";
constexpr char kNoClearing[] = "the system's counts of memory errors cannot be cleared from here; remember the last ones instead";

}  // namespace

std::vector<SysmanFan*> SysmanFan::find(const SystemFiles& files) {
  std::vector<SysmanFan*> found;
  const std::string hwmon = "/sys/class/hwmon/";
  for (const std::string& name : files.names(hwmon, "hwmon")) {
    const std::string folder = hwmon + name + "/";
    for (const std::string& file : files.names(folder, "fan")) {
      const size_t tail = file.rfind("_input");
      if (tail == std::string::npos || !files.has_number(folder + file)) continue;
      std::string pwm = folder + "pwm" + file.substr(3, tail - 3);
      if (!files.has_number(pwm)) pwm.clear();
      found.push_back(make(files, folder + file.substr(0, tail), std::move(pwm)));
    }
  }
  return found;
}

ze_result_t SysmanFan::getProperties(zes_fan_properties_t* properties) {
  properties->onSubdevice = properties->canControl = false;
  properties->subdeviceId = 0;
  properties->supportedModes = 1u << ZES_FAN_SPEED_MODE_DEFAULT;
  properties->supportedUnits = 1u << ZES_FAN_SPEED_UNITS_RPM;
  if (!pwm_.empty()) properties->supportedUnits |= 1u << ZES_FAN_SPEED_UNITS_PERCENT;
  int64_t most = 0;
  properties->maxRPM = files_.read(fan_ + "_max", &most) == 0 && most > 0 && most <= INT32_MAX ? static_cast<int32_t>(most) : -1;
  properties->maxPoints = -1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanFan::getConfig(zes_fan_config_t* config) {
  config->mode = ZES_FAN_SPEED_MODE_DEFAULT;
  config->speedFixed = {-1, ZES_FAN_SPEED_UNITS_RPM};
  std::memset(&config->speedTable, 0, sizeof config->speedTable);
  config->speedTable.numPoints = -1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanFan::getState(zes_fan_speed_units_t units, int32_t* speed) {
  const bool percent = units == ZES_FAN_SPEED_UNITS_PERCENT;
  if (percent && pwm_.empty())
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the duty cycle of this fan is unknown; ask for ZES_FAN_SPEED_UNITS_RPM");
  int64_t number = 0;
  int error = files_.read(percent ? pwm_ : fan_ + "_input", &number);
  if (!error && (number < 0 || number > INT32_MAX)) error = EINVAL;
  if (error) return unreadable("the speed of the fan", error);
  constexpr int64_t kFullPwm = 255;
  *speed = static_cast<int32_t>(percent ? std::min(number, kFullPwm) * 100 / kFullPwm : number);
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanFan::setDefaultMode() { return fail(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, kNoFanControl); }
ze_result_t SysmanFan::setFixedSpeedMode(const zes_fan_speed_t*) {
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, kNoFanControl);
}
ze_result_t SysmanFan::setSpeedTableMode(const zes_fan_speed_table_t*) {
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, kNoFanControl);
}

std::vector<SysmanFirmware*> SysmanFirmware::find(const SystemFiles& files) {
  for (const std::string& name : files.names("/sys/devices/system/cpu", "cpu")) {
    const std::string file = "/sys/devices/system/cpu/" + name + "/microcode/version";
    if (!files.line(file).empty()) return {make(files, file)};
  }
  return {};
}

ze_result_t SysmanFirmware::getProperties(zes_firmware_properties_t* properties) {
  properties->onSubdevice = properties->canControl = false;
  properties->subdeviceId = 0;
  put_text(properties->name, "microcode");
  const std::string version = files_.line(file_);
  put_text(properties->version, version.empty() ? "unknown" : version);
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanFirmware::flash(void*, uint32_t) { return fail(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, kNoFirmwareControl); }
ze_result_t SysmanFirmware::getFlashProgress(uint32_t*) { return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, kNoFirmwareControl); }
ze_result_t SysmanFirmware::getConsoleLogs(size_t*, char*) {
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "microcode keeps no log");
}
ze_result_t SysmanFirmware::getSecurityVersionExp(char*) {
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "microcode has no security version of its own");
}
ze_result_t SysmanFirmware::setSecurityVersionExp() { return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, kNoFirmwareControl); }

std::vector<SysmanRas*> SysmanRas::find(const SystemFiles& files) {
  std::vector<std::string> corrected, others;
  const std::string top = "/sys/devices/system/edac/mc/";
  for (const std::string& name : files.names(top, "mc")) {
    const std::string folder = top + name + "/";
    if (files.has_number(folder + "ce_count")) corrected.push_back(folder + "ce_count");
    if (files.has_number(folder + "ue_count")) others.push_back(folder + "ue_count");
  }
  std::vector<SysmanRas*> found;
  if (!corrected.empty()) found.push_back(make(files, std::move(corrected), ZES_RAS_ERROR_TYPE_CORRECTABLE));
  if (!others.empty()) found.push_back(make(files, std::move(others), ZES_RAS_ERROR_TYPE_UNCORRECTABLE));
  return found;
}

int SysmanRas::total(uint64_t* errors) const {
  *errors = 0;
  for (const std::string& counter : counters_) {
    int64_t number = 0;
    if (int error = files_.read(counter, &number)) return error;
    *errors += static_cast<uint64_t>(std::max<int64_t>(number, 0));
  }
  return 0;
}

ze_result_t SysmanRas::getProperties(zes_ras_properties_t* properties) {
  properties->type = type_;
  properties->onSubdevice = false;
  properties->subdeviceId = 0;
  return ZE_RESULT_SUCCESS;
}

// The first version's categories have none for memory; it counts as non-compute.
ze_result_t SysmanRas::getState(ze_bool_t clear, zes_ras_state_t* state) {
  if (clear) return fail(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, kNoClearing);
  uint64_t errors = 0;
  if (int error = total(&errors)) return unreadable("the errors of the memory", error);
  std::fill(std::begin(state->category), std::end(state->category), 0);
  state->category[ZES_RAS_ERROR_CAT_NON_COMPUTE_ERRORS] = errors;
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanRas::getConfig(zes_ras_config_t* config) {
  config->totalThreshold = 0;
  std::fill(std::begin(config->detailedThresholds.category), std::end(config->detailedThresholds.category), 0);
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanRas::setConfig(const zes_ras_config_t*) { return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, kNoThresholds); }

ze_result_t SysmanRas::getStateExp(uint32_t* count, zes_ras_state_exp_t* states) {
  const bool asked = states && *count > 0;
  *count = 1;
  if (!asked) return ZE_RESULT_SUCCESS;
  uint64_t errors = 0;
  if (int error = total(&errors)) return unreadable("the errors of the memory", error);
  states[0] = {ZES_RAS_ERROR_CATEGORY_EXP_MEMORY_ERRORS, errors};
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanRas::getStateExp2(uint32_t count, const zes_ras_error_category_exp_t* categories, zes_ras_state_exp2_t* states) {
  uint64_t errors = 0;
  if (int error = total(&errors)) return unreadable("the errors of the memory", error);
  for (uint32_t i = 0; i < count; ++i) {
    if (categories[i] != ZES_RAS_ERROR_CATEGORY_EXP_MEMORY_ERRORS)
      return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "pCategories[%u] is %u; only memory errors are counted", i, categories[i]);
    states[i].errorCounter = errors;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanRas::getSupportedCategoriesExp(uint32_t* count, zes_ras_error_category_exp_t* categories) {
  if (categories && *count > 0) categories[0] = ZES_RAS_ERROR_CATEGORY_EXP_MEMORY_ERRORS;
  *count = 1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanRas::clearStateExp(zes_ras_error_category_exp_t) {
  return fail(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, kNoClearing);
}

ze_result_t SysmanRas::getConfigExp(uint32_t count, zes_ras_config_exp_t* config) {
  for (uint32_t i = 0; i < count; ++i) config[i].threshold = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanRas::setConfigExp(uint32_t, const zes_ras_config_exp_t*) {
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, kNoThresholds);
}

}  // namespace anyzero
