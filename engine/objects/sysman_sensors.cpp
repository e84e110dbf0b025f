#include "sysman_sensors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../abi/error.h"
#include "../exec/clock.h"
#include "sysman_parts.h"

namespace anyzero {

namespace {

// One part of each kind of thing that was found.
template <class Part, class Found>
std::vector<Part*> parts(const SystemFiles& files, std::vector<Found> found) {
  std::vector<Part*> made;
  for (Found& each : found) made.push_back(Part::make(files, std::move(each)));
  return made;
}

ze_result_t unreadable(const char* what, int error) {
  const bool forbidden = error == EACCES || error == EPERM;
  return fail(forbidden ? ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS : ZE_RESULT_ERROR_NOT_AVAILABLE,
              "the system does not tell %s any more: %s", what, std::strerror(error));
}

}  // namespace

std::vector<SysmanFrequency*> SysmanFrequency::find(const SystemFiles& files) {
  std::vector<CpuClock> found;
  if (CpuClock clock = CpuClock::find(files); clock.known()) found.push_back(std::move(clock));
  return parts<SysmanFrequency>(files, std::move(found));
}

ze_result_t SysmanFrequency::getProperties(zes_freq_properties_t* properties) {
  properties->type = ZES_FREQ_DOMAIN_GPU;
  properties->onSubdevice = properties->canControl = properties->isThrottleEventSupported = false;
  properties->subdeviceId = 0;
  properties->min = clock_.limit(files_, "cpuinfo_min_freq");
  properties->max = clock_.limit(files_, "cpuinfo_max_freq");
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanFrequency::getAvailableClocks(uint32_t* count, double* clocks) {
  const std::vector<double> steps = clock_.steps(files_);
  const uint32_t available = static_cast<uint32_t>(steps.size());
  if (!clocks || *count == 0) {
    *count = available;
    return ZE_RESULT_SUCCESS;
  }
  *count = std::min(*count, available);
  std::copy_n(steps.begin(), *count, clocks);
  return ZE_RESULT_SUCCESS;
}

// Negative means that no limit is in effect.
ze_result_t SysmanFrequency::getRange(zes_freq_range_t* limits) {
  *limits = {clock_.limit(files_, "scaling_min_freq"), clock_.limit(files_, "scaling_max_freq")};
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanFrequency::getState(zes_freq_state_t* state) {
  double mhz;
  if (int error = clock_.current(files_, &mhz)) return unreadable("the clock rate", error);
  state->currentVoltage = state->request = state->tdp = state->efficient = -1;
  state->actual = mhz;
  state->throttleReasons = 0;
  return ZE_RESULT_SUCCESS;
}

std::vector<SysmanPower*> SysmanPower::find(const SystemFiles& files) { return parts<SysmanPower>(files, EnergyZone::find(files)); }

ze_result_t SysmanPower::getProperties(zes_power_properties_t* properties) {
  properties->onSubdevice = properties->canControl = properties->isEnergyThresholdSupported = false;
  properties->subdeviceId = 0;
  properties->defaultLimit = properties->minLimit = properties->maxLimit = -1;
  auto* extended = find_sysman<zes_power_ext_properties_t>(properties->pNext, ZES_STRUCTURE_TYPE_POWER_EXT_PROPERTIES);
  if (!extended) return ZE_RESULT_SUCCESS;
  extended->domain = zone_.memory ? ZES_POWER_DOMAIN_MEMORY : ZES_POWER_DOMAIN_PACKAGE;
  if (zes_power_limit_ext_desc_t* limit = extended->defaultLimit) {
    limit->level = ZES_POWER_LEVEL_UNKNOWN;
    limit->source = ZES_POWER_SOURCE_ANY;
    limit->limitUnit = ZES_LIMIT_UNIT_POWER;
    limit->enabledStateLocked = limit->intervalValueLocked = limit->limitValueLocked = true;
    limit->enabled = false;
    limit->interval = limit->limit = -1;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanPower::getEnergyCounter(zes_power_energy_counter_t* counter) {
  auto kept = counter_.open();
  int64_t now = 0;
  const uint64_t time = now_ns();
  int error = files_.read(zone_.folder + "energy_uj", &now);
  if (!error && now < 0) error = EINVAL;
  if (error) return unreadable("the energy used", error);
  const auto energy = static_cast<uint64_t>(now);
  if (energy < kept->last) kept->before += std::max(zone_.wraps_at, kept->last);
  kept->last = energy;
  *counter = {kept->before + energy, time / 1000};
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanPower::getLimitsExt(uint32_t* count, zes_power_limit_ext_desc_t*) {
  *count = 0;
  return ZE_RESULT_SUCCESS;
}

std::vector<SysmanTemperature*> SysmanTemperature::find(const SystemFiles& files) {
  return parts<SysmanTemperature>(files, Thermometer::find(files));
}

ze_result_t SysmanTemperature::getProperties(zes_temp_properties_t* properties) {
  properties->type = ZES_TEMP_SENSORS_GLOBAL;
  properties->onSubdevice = false;
  properties->subdeviceId = 0;
  properties->isCriticalTempSupported = properties->isThreshold1Supported = properties->isThreshold2Supported = false;
  int64_t highest = 0;
  const bool known = !sensor_.critical.empty() && files_.read(sensor_.critical, &highest) == 0 && highest > 0;
  properties->maxTemperature = known ? static_cast<double>(highest) / 1000 : -1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanTemperature::getState(double* degrees) {
  int64_t thousandths = 0;
  if (int error = files_.read(sensor_.file, &thousandths)) return unreadable("the temperature", error);
  *degrees = static_cast<double>(thousandths) / 1000;
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
