// Fans, microcode, counts of memory errors, limits of power, and thresholds of temperature, from files that a machine may have.
#include "scene.h"
#include "sysman/board.h"
#include "sysman/sensors.h"
#include "system_root.h"

using namespace anyzero;

namespace {

void nothing_is_there() {
  Root root;
  assert(SysmanFan::find(root.files()).empty());
  assert(SysmanFirmware::find(root.files()).empty());
  assert(SysmanRas::find(root.files()).empty());
}

void fans() {
  Root root;
  const std::string chip = "sys/class/hwmon/hwmon2/";
  root.write(chip + "name", "nct6775\n");
  root.write(chip + "fan1_input", "1200\n");
  root.write(chip + "fan1_max", "2400\n");
  root.write(chip + "pwm1", "128\n");
  root.write(chip + "fan2_input", "0\n");
  root.write(chip + "fan3_input", "broken\n");
  const auto found = SysmanFan::find(root.files());
  assert(found.size() == 2);
  zes_fan_properties_t properties{};
  OK(found[0]->getProperties(&properties));
  assert(properties.maxRPM == 2400 && properties.maxPoints == -1 && !properties.canControl);
  assert(properties.supportedUnits == 3 && properties.supportedModes == 1u << ZES_FAN_SPEED_MODE_DEFAULT);
  int32_t speed = -5;
  OK(found[0]->getState(ZES_FAN_SPEED_UNITS_RPM, &speed));
  assert(speed == 1200);
  OK(found[0]->getState(ZES_FAN_SPEED_UNITS_PERCENT, &speed));
  assert(speed == 50);
  assert(found[1]->getState(ZES_FAN_SPEED_UNITS_PERCENT, &speed) == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  OK(found[1]->getProperties(&properties));
  assert(properties.maxRPM == -1 && properties.supportedUnits == 1);
  zes_fan_config_t config{};
  OK(found[0]->getConfig(&config));
  assert(config.mode == ZES_FAN_SPEED_MODE_DEFAULT && config.speedFixed.speed == -1 && config.speedTable.numPoints == -1);
  assert(found[0]->setDefaultMode() == ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS);
  const zes_fan_speed_t wanted{100, ZES_FAN_SPEED_UNITS_PERCENT};
  assert(found[0]->setFixedSpeedMode(&wanted) == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  std::filesystem::remove_all(root.path / "sys");
  assert(found[0]->getState(ZES_FAN_SPEED_UNITS_RPM, &speed) == ZE_RESULT_ERROR_NOT_AVAILABLE);
}

void microcode() {
  Root root;
  root.write("sys/devices/system/cpu/cpu0/microcode/version", "0xa201210\n");
  root.write("sys/devices/system/cpu/cpuidle/microcode/version", "");
  SysmanFirmware* firmware = only(SysmanFirmware::find(root.files()));
  zes_firmware_properties_t properties{};
  OK(firmware->getProperties(&properties));
  assert(std::string(properties.name) == "microcode" && std::string(properties.version) == "0xa201210" && !properties.canControl);
  uint32_t percent;
  assert(firmware->getFlashProgress(&percent) == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  assert(firmware->flash(&percent, 4) == ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS);
}

void memory_errors() {
  Root root;
  for (const char* controller : {"mc0", "mc1"}) {
    const std::string folder = "sys/devices/system/edac/mc/" + std::string(controller) + "/";
    root.write(folder + "ce_count", "3\n");
    root.write(folder + "ue_count", "0\n");
  }
  const auto sets = SysmanRas::find(root.files());
  assert(sets.size() == 2);
  zes_ras_properties_t properties{};
  OK(sets[1]->getProperties(&properties));
  assert(properties.type == ZES_RAS_ERROR_TYPE_UNCORRECTABLE);
  zes_ras_state_t state{};
  OK(sets[0]->getState(false, &state));
  assert(state.category[ZES_RAS_ERROR_CAT_NON_COMPUTE_ERRORS] == 6 && state.category[ZES_RAS_ERROR_CAT_CACHE_ERRORS] == 0);
  assert(sets[0]->getState(true, &state) == ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS);
  uint32_t count = 0;
  OK(sets[0]->getStateExp(&count, nullptr));
  assert(count == 1);
  zes_ras_state_exp_t one{};
  OK(sets[0]->getStateExp(&count, &one));
  assert(one.category == ZES_RAS_ERROR_CATEGORY_EXP_MEMORY_ERRORS && one.errorCounter == 6);
  const zes_ras_error_category_exp_t asked[] = {ZES_RAS_ERROR_CATEGORY_EXP_MEMORY_ERRORS, ZES_RAS_ERROR_CATEGORY_EXP_CACHE_ERRORS};
  zes_ras_state_exp2_t counters[2]{};
  OK(sets[0]->getStateExp2(1, asked, counters));
  assert(counters[0].errorCounter == 6);
  assert(sets[0]->getStateExp2(2, asked, counters) == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  root.write("sys/devices/system/edac/mc/mc1/ce_count", "many\n");
  assert(sets[0]->getState(false, &state) == ZE_RESULT_ERROR_NOT_AVAILABLE);
}

void limits_of_power() {
  Root root;
  const std::string zone = "sys/class/powercap/intel-rapl:0/";
  root.write(zone + "name", "package-0\n");
  root.write(zone + "energy_uj", "1\n");
  root.write(zone + "enabled", "1\n");
  root.write(zone + "constraint_0_name", "long_term\n");
  root.write(zone + "constraint_0_power_limit_uw", "65000000\n");
  root.write(zone + "constraint_0_time_window_us", "28000000\n");
  root.write(zone + "constraint_1_name", "short_term\n");
  root.write(zone + "constraint_1_power_limit_uw", "90000000\n");
  SysmanPower* power = only(SysmanPower::find(root.files()));
  zes_power_sustained_limit_t sustained{};
  zes_power_burst_limit_t burst{};
  zes_power_peak_limit_t peak{};
  OK(power->getLimits(&sustained, &burst, &peak));
  assert(sustained.enabled && sustained.power == 65000 && sustained.interval == 28000);
  assert(burst.enabled && burst.power == 90000 && peak.powerAC == -1);
  uint32_t count = 0;
  OK(power->getLimitsExt(&count, nullptr));
  assert(count == 2);
  zes_power_limit_ext_desc_t limits[2]{};
  OK(power->getLimitsExt(&count, limits));
  assert(limits[0].level == ZES_POWER_LEVEL_SUSTAINED && limits[0].limit == 65000 && limits[0].limitValueLocked);
  assert(limits[1].level == ZES_POWER_LEVEL_BURST && limits[1].interval == -1);
  assert(power->setLimits(&sustained, nullptr, nullptr) == ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS);
}

void time_held_back() {
  Root root;
  root.write(cpufreq() + "scaling_cur_freq", "2400000\n");
  SysmanFrequency* domain = only(SysmanFrequency::find(root.files()));
  zes_freq_throttle_time_t time{};
  assert(domain->getThrottleTime(&time) == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  root.write(cpufreq() + "../thermal_throttle/package_throttle_total_time_ms", "1500\n");
  OK(domain->getThrottleTime(&time));
  assert(time.throttleTime == 1500000 && time.timestamp > 0);
  zes_oc_capabilities_t capabilities{};
  OK(domain->ocGetCapabilities(&capabilities));
  assert(!capabilities.isOcSupported);
  const zes_freq_range_t range{800, 900};
  assert(domain->setRange(&range) == ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS);
}

void thresholds_of_temperature() {
  Root root;
  const std::string package = "sys/class/hwmon/hwmon0/";
  root.write(package + "name", "k10temp\n");
  root.write(package + "temp1_input", "50000\n");
  root.write(package + "temp1_crit", "95000\n");
  SysmanTemperature* sensor = only(SysmanTemperature::find(root.files()));
  assert(!sensor->watched() && sensor->crossed() == 0);
  zes_temp_config_t config{};
  config.enableCritical = true;
  config.threshold1 = {true, false, 60};
  config.threshold2 = {false, true, 55};
  OK(sensor->setConfig(&config));
  zes_temp_config_t kept{};
  OK(sensor->getConfig(&kept));
  assert(kept.enableCritical && kept.threshold1.threshold == 60 && kept.threshold2.enableHighToLow);
  assert(sensor->watched() && sensor->crossed() == 0);
  auto at = [&](const char* degrees) {
    root.write(package + "temp1_input", degrees);
    return sensor->crossed();
  };
  assert(at("62000\n") == ZES_EVENT_TYPE_FLAG_TEMP_THRESHOLD1);
  assert(at("63000\n") == 0);
  assert(at("95000\n") == ZES_EVENT_TYPE_FLAG_TEMP_CRITICAL);
  assert(at("50000\n") == ZES_EVENT_TYPE_FLAG_TEMP_THRESHOLD2);
  assert(at("gone\n") == 0);
  root.write(package + "temp1_input", "50000\n");
  config.threshold1.threshold = 120;
  assert(sensor->setConfig(&config) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  // Without a critical temperature there is no such event.
  std::filesystem::remove(root.path / (package + "temp1_crit"));
  config.threshold1.threshold = 60;
  assert(sensor->setConfig(&config) == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  config.enableCritical = false;
  OK(sensor->setConfig(&config));
}

}  // namespace

int main() {
  nothing_is_there();
  fans();
  microcode();
  memory_errors();
  limits_of_power();
  time_held_back();
  thresholds_of_temperature();
  std::puts("sysman_board_test: ok");
  return 0;
}
