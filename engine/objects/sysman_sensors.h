// Clock rate, energy and temperature of the processor behind a device, read from the operating system at the moment of the query.
#pragma once

#include <vector>

#include "../abi/handle.h"
#include "../exec/mutex.h"
#include "sysman_files.h"

namespace anyzero {

// Threading of all of these: any thread. They live as long as the process.

class SysmanFrequency : public Object<SysmanFrequency, Kind::SysmanFrequency> {
 public:
  ze_result_t getProperties(zes_freq_properties_t* properties);
  ze_result_t getAvailableClocks(uint32_t* count, double* clocks);
  ze_result_t getRange(zes_freq_range_t* limits);
  ze_result_t getState(zes_freq_state_t* state);

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
  ze_result_t getLimitsExt(uint32_t* count, zes_power_limit_ext_desc_t* limits);

  static std::vector<SysmanPower*> find(const SystemFiles& files);
  SysmanPower(const SystemFiles& files, EnergyZone zone) : files_(files), zone_(std::move(zone)) {}

 private:
  // The system's counter starts anew after some minutes or hours; ours goes on as long as somebody looks often enough.
  struct Counter {
    uint64_t last = 0;
    uint64_t before = 0;  // what earlier rounds came to
  };

  SystemFiles files_;
  EnergyZone zone_;
  Guarded<Counter> counter_;
};

class SysmanTemperature : public Object<SysmanTemperature, Kind::SysmanTemperature> {
 public:
  ze_result_t getProperties(zes_temp_properties_t* properties);
  ze_result_t getState(double* degrees);

  static std::vector<SysmanTemperature*> find(const SystemFiles& files);
  SysmanTemperature(const SystemFiles& files, Thermometer sensor) : files_(files), sensor_(std::move(sensor)) {}

 private:
  SystemFiles files_;
  Thermometer sensor_;
};

}  // namespace anyzero
