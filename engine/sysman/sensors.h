// Clock rate, energy and temperature of the processor behind a device, read from the operating system on each query.
#pragma once

#include <vector>

#include "../abi/handle.h"
#include "../system/mutex.h"
#include "files.h"

namespace anyzero {

// Threading of all of these: any thread. They live as long as the process.

class SysmanFrequency : public Object<SysmanFrequency, Kind::SysmanFrequency> {
 public:
  ze_result_t getProperties(zes_freq_properties_t* properties);
  ze_result_t getAvailableClocks(uint32_t* count, double* clocks);
  ze_result_t getRange(zes_freq_range_t* limits);
  ze_result_t getState(zes_freq_state_t* state);
  ze_result_t getThrottleTime(zes_freq_throttle_time_t* time);
  ze_result_t setRange(const zes_freq_range_t* limits);

  ze_result_t ocGetCapabilities(zes_oc_capabilities_t* capabilities);
  ze_result_t ocGetFrequencyTarget(double* mhz);
  ze_result_t ocSetFrequencyTarget(double mhz);
  ze_result_t ocGetVoltageTarget(double* target, double* offset);
  ze_result_t ocSetVoltageTarget(double target, double offset);
  ze_result_t ocGetMode(zes_oc_mode_t* mode);
  ze_result_t ocSetMode(zes_oc_mode_t mode);
  ze_result_t ocGetIccMax(double* amperes);
  ze_result_t ocSetIccMax(double amperes);
  ze_result_t ocGetTjMax(double* degrees);
  ze_result_t ocSetTjMax(double degrees);

  static std::vector<SysmanFrequency*> find(const SystemFiles& files);
  SysmanFrequency(const SystemFiles& files, CpuClock clock) : files_(files), clock_(std::move(clock)) {}

 private:
  SystemFiles files_;
  CpuClock clock_;
};

class SysmanPower : public Object<SysmanPower, Kind::SysmanPower> {
 public:
  ze_result_t getProperties(zes_power_properties_t* properties);
  ze_result_t getEnergyCounter(zes_power_energy_counter_t* counter);
  ze_result_t getLimits(zes_power_sustained_limit_t* sustained, zes_power_burst_limit_t* burst, zes_power_peak_limit_t* peak);
  ze_result_t getLimitsExt(uint32_t* count, zes_power_limit_ext_desc_t* limits);
  ze_result_t setLimits(const zes_power_sustained_limit_t* sustained, const zes_power_burst_limit_t* burst,
                        const zes_power_peak_limit_t* peak);
  ze_result_t setLimitsExt(uint32_t* count, zes_power_limit_ext_desc_t* limits);
  ze_result_t getEnergyThreshold(zes_energy_threshold_t* threshold);
  ze_result_t setEnergyThreshold(double joules);

  static std::vector<SysmanPower*> find(const SystemFiles& files);
  SysmanPower(const SystemFiles& files, EnergyZone zone) : files_(files), zone_(std::move(zone)) {}

 private:
  // The system's counter wraps after minutes or hours; ours stays monotonic if it is read often enough.
  struct Counter {
    uint64_t last = 0;
    uint64_t before = 0;  // sum of earlier rounds
  };

  struct Limit {
    int32_t milliwatts = -1, milliseconds = -1;
    bool enabled = false;
  };
  static constexpr int kMostLimits = 8;
  bool limit(const char* name, Limit* found) const;

  SystemFiles files_;
  EnergyZone zone_;
  Guarded<Counter> counter_;
};

class SysmanTemperature : public Object<SysmanTemperature, Kind::SysmanTemperature> {
 public:
  ze_result_t getProperties(zes_temp_properties_t* properties);
  ze_result_t getState(double* degrees);
  ze_result_t getConfig(zes_temp_config_t* config);
  ze_result_t setConfig(const zes_temp_config_t* config);

  // Whether a change of temperature can raise an event.
  bool watched();
  // Events since the last poll, or since the configuration was set.
  zes_event_type_flags_t crossed();

  static std::vector<SysmanTemperature*> find(const SystemFiles& files);
  SysmanTemperature(const SystemFiles& files, Thermometer sensor) : files_(files), sensor_(std::move(sensor)) {}

 private:
  struct Watch {
    bool critical = false;
    zes_temp_threshold_t thresholds[2]{};
    double last = 0;
  };

  double highest() const;  // negative if unknown

  SystemFiles files_;
  Thermometer sensor_;
  Guarded<Watch> watch_;
};

}  // namespace anyzero
