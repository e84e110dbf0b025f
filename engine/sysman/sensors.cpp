#include "sensors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../abi/error.h"
#include "../system/clock.h"
#include "events.h"
#include "parts.h"

namespace anyzero {

namespace {

// Creates one component for each sensor that was found.
template <class Part, class Found>
std::vector<Part*> parts(const SystemFiles& files, std::vector<Found> found) {
  std::vector<Part*> made;
  for (Found& each : found) made.push_back(Part::make(files, std::move(each)));
  return made;
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

// Negative values mean that no limit is in effect.
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

ze_result_t SysmanFrequency::getThrottleTime(zes_freq_throttle_time_t* time) {
  int64_t milliseconds = 0;
  const int error = clock_.throttled(files_, &milliseconds);
  if (error == ENOENT)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the system does not report how long the clock was throttled");
  if (error) return unreadable("how long the clock was throttled", error);
  *time = {static_cast<uint64_t>(milliseconds) * 1000, now_ns() / 1000};
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanFrequency::setRange(const zes_freq_range_t*) {
  return fail(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, "the operating system sets clock rates: see scaling_min_freq of cpufreq");
}

ze_result_t SysmanFrequency::ocGetCapabilities(zes_oc_capabilities_t* capabilities) {
  const auto stype = capabilities->stype;
  const void* chain = capabilities->pNext;
  *capabilities = {};
  capabilities->stype = stype;
  capabilities->pNext = chain;
  capabilities->maxFactoryDefaultFrequency = std::max(clock_.limit(files_, "cpuinfo_max_freq"), 0.0);
  return ZE_RESULT_SUCCESS;
}

namespace {

ze_result_t no_overclocking() {
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "this device cannot be overclocked; zesFrequencyOcGetCapabilities says so");
}

}  // namespace

ze_result_t SysmanFrequency::ocGetFrequencyTarget(double*) { return no_overclocking(); }
ze_result_t SysmanFrequency::ocSetFrequencyTarget(double) { return no_overclocking(); }
ze_result_t SysmanFrequency::ocGetVoltageTarget(double*, double*) { return no_overclocking(); }
ze_result_t SysmanFrequency::ocSetVoltageTarget(double, double) { return no_overclocking(); }
ze_result_t SysmanFrequency::ocGetMode(zes_oc_mode_t*) { return no_overclocking(); }
ze_result_t SysmanFrequency::ocSetMode(zes_oc_mode_t) { return no_overclocking(); }
ze_result_t SysmanFrequency::ocGetIccMax(double*) { return no_overclocking(); }
ze_result_t SysmanFrequency::ocSetIccMax(double) { return no_overclocking(); }
ze_result_t SysmanFrequency::ocGetTjMax(double*) { return no_overclocking(); }
ze_result_t SysmanFrequency::ocSetTjMax(double) { return no_overclocking(); }

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

// RAPL's long-term and short-term constraints, in milliwatts; false if the constraint does not exist.
bool SysmanPower::limit(const char* name, Limit* found) const {
  for (int i = 0; i < kMostLimits; ++i) {
    const std::string stem = zone_.folder + "constraint_" + std::to_string(i) + "_";
    if (files_.line(stem + "name") != name) continue;
    int64_t microwatts = 0, microseconds = 0;
    if (files_.read(stem + "power_limit_uw", &microwatts) || microwatts <= 0) return false;
    if (files_.read(stem + "time_window_us", &microseconds)) microseconds = -1000;
    found->milliwatts = static_cast<int32_t>(std::min<int64_t>(microwatts / 1000, INT32_MAX));
    found->milliseconds = static_cast<int32_t>(std::min<int64_t>(microseconds / 1000, INT32_MAX));
    int64_t enabled = 1;
    found->enabled = files_.read(zone_.folder + "enabled", &enabled) != 0 || enabled != 0;
    return true;
  }
  return false;
}

ze_result_t SysmanPower::getLimits(zes_power_sustained_limit_t* sustained, zes_power_burst_limit_t* burst,
                                   zes_power_peak_limit_t* peak) {
  Limit found;
  if (sustained) {
    const bool there = limit("long_term", &found);
    *sustained = {there && found.enabled, there ? found.milliwatts : -1, there ? found.milliseconds : -1};
  }
  if (burst) {
    const bool there = limit("short_term", &found);
    *burst = {there && found.enabled, there ? found.milliwatts : -1};
  }
  if (peak) {
    const bool there = limit("peak_power", &found);
    *peak = {there ? found.milliwatts : -1, -1};
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanPower::getLimitsExt(uint32_t* count, zes_power_limit_ext_desc_t* limits) {
  static constexpr struct {
    const char* name;
    zes_power_level_t level;
  } kLevels[] = {
      {"long_term", ZES_POWER_LEVEL_SUSTAINED}, {"short_term", ZES_POWER_LEVEL_BURST}, {"peak_power", ZES_POWER_LEVEL_PEAK}};
  uint32_t there = 0;
  const uint32_t room = limits ? *count : 0;
  for (const auto& each : kLevels) {
    Limit found;
    if (!limit(each.name, &found)) continue;
    if (there < room) {
      zes_power_limit_ext_desc_t& to = limits[there];
      to.level = each.level;
      to.source = ZES_POWER_SOURCE_ANY;
      to.limitUnit = ZES_LIMIT_UNIT_POWER;
      to.enabledStateLocked = to.intervalValueLocked = to.limitValueLocked = true;
      to.enabled = found.enabled;
      to.interval = found.milliseconds;
      to.limit = found.milliwatts;
    }
    ++there;
  }
  *count = room ? std::min(room, there) : there;
  return ZE_RESULT_SUCCESS;
}

namespace {

ze_result_t limits_are_fixed() {
  return fail(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, "the operating system sets power limits: see /sys/class/powercap");
}

ze_result_t no_energy_threshold() {
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "there are no energy thresholds; call zesPowerGetEnergyCounter instead");
}

}  // namespace

ze_result_t SysmanPower::setLimits(const zes_power_sustained_limit_t*, const zes_power_burst_limit_t*,
                                   const zes_power_peak_limit_t*) {
  return limits_are_fixed();
}
ze_result_t SysmanPower::setLimitsExt(uint32_t*, zes_power_limit_ext_desc_t*) { return limits_are_fixed(); }
ze_result_t SysmanPower::getEnergyThreshold(zes_energy_threshold_t*) { return no_energy_threshold(); }
ze_result_t SysmanPower::setEnergyThreshold(double) { return no_energy_threshold(); }

std::vector<SysmanTemperature*> SysmanTemperature::find(const SystemFiles& files) {
  return parts<SysmanTemperature>(files, Thermometer::find(files));
}

ze_result_t SysmanTemperature::getProperties(zes_temp_properties_t* properties) {
  properties->type = ZES_TEMP_SENSORS_GLOBAL;
  properties->onSubdevice = false;
  properties->subdeviceId = 0;
  properties->maxTemperature = highest();
  properties->isCriticalTempSupported = properties->maxTemperature > 0;
  properties->isThreshold1Supported = properties->isThreshold2Supported = true;
  return ZE_RESULT_SUCCESS;
}

double SysmanTemperature::highest() const {
  int64_t thousandths = 0;
  const bool known = !sensor_.critical.empty() && files_.read(sensor_.critical, &thousandths) == 0 && thousandths > 0;
  return known ? static_cast<double>(thousandths) / 1000 : -1;
}

ze_result_t SysmanTemperature::getConfig(zes_temp_config_t* config) {
  auto kept = watch_.open();
  config->enableCritical = kept->critical;
  config->threshold1 = kept->thresholds[0];
  config->threshold2 = kept->thresholds[1];
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanTemperature::setConfig(const zes_temp_config_t* config) {
  const double most = highest();
  if (config->enableCritical && most <= 0)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                "the system does not report the critical temperature; set a threshold instead");
  for (const zes_temp_threshold_t& each : {config->threshold1, config->threshold2}) {
    const bool used = each.enableLowToHigh || each.enableHighToLow;
    if (used && !(each.threshold > -274 && (most <= 0 || each.threshold <= most)))
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "a threshold of %g degrees; the highest temperature is %g", each.threshold,
                  most);
  }
  double now = 0;
  if (ze_result_t r = getState(&now)) return r;
  {
    auto kept = watch_.open();
    kept->critical = config->enableCritical;
    kept->thresholds[0] = config->threshold1;
    kept->thresholds[1] = config->threshold2;
    kept->last = now;
  }
  SysmanEvents::changed();
  return ZE_RESULT_SUCCESS;
}

bool SysmanTemperature::watched() {
  auto kept = watch_.open();
  bool any = kept->critical;
  for (const zes_temp_threshold_t& each : kept->thresholds) any |= each.enableLowToHigh || each.enableHighToLow;
  return any;
}

zes_event_type_flags_t SysmanTemperature::crossed() {
  double now = 0;
  if (!watched() || getState(&now)) return 0;
  const double most = highest();
  auto kept = watch_.open();
  const double before = kept->last;
  kept->last = now;
  zes_event_type_flags_t found = 0;
  if (kept->critical && most > 0 && before < most && now >= most) found |= ZES_EVENT_TYPE_FLAG_TEMP_CRITICAL;
  constexpr zes_event_type_flags_t kFlags[] = {ZES_EVENT_TYPE_FLAG_TEMP_THRESHOLD1, ZES_EVENT_TYPE_FLAG_TEMP_THRESHOLD2};
  for (size_t i = 0; i < 2; ++i) {
    const zes_temp_threshold_t& each = kept->thresholds[i];
    const bool up = each.enableLowToHigh && before < each.threshold && now >= each.threshold;
    const bool down = each.enableHighToLow && before >= each.threshold && now < each.threshold;
    if (up || down) found |= kFlags[i];
  }
  return found;
}

ze_result_t SysmanTemperature::getState(double* degrees) {
  int64_t thousandths = 0;
  if (int error = files_.read(sensor_.file, &thousandths)) return unreadable("the temperature", error);
  *degrees = static_cast<double>(thousandths) / 1000;
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
