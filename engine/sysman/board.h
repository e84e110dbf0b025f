// Components of the board that the operating system reports: fans, the processor's microcode, memory error counters. All are
// read-only.
#pragma once

#include <string>
#include <vector>

#include "../abi/handle.h"
#include "files.h"

namespace anyzero {

// Threading of all of these: any thread. They live as long as the process.

class SysmanFan : public Object<SysmanFan, Kind::SysmanFan> {
 public:
  ze_result_t getProperties(zes_fan_properties_t* properties);
  ze_result_t getConfig(zes_fan_config_t* config);
  ze_result_t getState(zes_fan_speed_units_t units, int32_t* speed);
  ze_result_t setDefaultMode();
  ze_result_t setFixedSpeedMode(const zes_fan_speed_t* speed);
  ze_result_t setSpeedTableMode(const zes_fan_speed_table_t* table);

  static std::vector<SysmanFan*> find(const SystemFiles& files);
  // `fan` and `pwm` are prefixes of its file names; `pwm` is empty if the duty cycle is not reported.
  SysmanFan(const SystemFiles& files, std::string fan, std::string pwm)
      : files_(files), fan_(std::move(fan)), pwm_(std::move(pwm)) {}

 private:
  SystemFiles files_;
  std::string fan_, pwm_;
};

// The processor's microcode.
class SysmanFirmware : public Object<SysmanFirmware, Kind::SysmanFirmware> {
 public:
  ze_result_t getProperties(zes_firmware_properties_t* properties);
  ze_result_t flash(void* image, uint32_t size);
  ze_result_t getFlashProgress(uint32_t* percent);
  ze_result_t getConsoleLogs(size_t* size, char* log);
  ze_result_t getSecurityVersionExp(char* version);
  ze_result_t setSecurityVersionExp();

  static std::vector<SysmanFirmware*> find(const SystemFiles& files);
  SysmanFirmware(const SystemFiles& files, std::string file) : files_(files), file_(std::move(file)) {}

 private:
  SystemFiles files_;
  std::string file_;
};

// Memory errors, counted by the memory controllers.
class SysmanRas : public Object<SysmanRas, Kind::SysmanRas> {
 public:
  ze_result_t getProperties(zes_ras_properties_t* properties);
  ze_result_t getState(ze_bool_t clear, zes_ras_state_t* state);
  ze_result_t getConfig(zes_ras_config_t* config);
  ze_result_t setConfig(const zes_ras_config_t* config);
  ze_result_t getStateExp(uint32_t* count, zes_ras_state_exp_t* states);
  ze_result_t getStateExp2(uint32_t count, const zes_ras_error_category_exp_t* categories, zes_ras_state_exp2_t* states);
  ze_result_t getSupportedCategoriesExp(uint32_t* count, zes_ras_error_category_exp_t* categories);
  ze_result_t clearStateExp(zes_ras_error_category_exp_t category);
  ze_result_t getConfigExp(uint32_t count, zes_ras_config_exp_t* config);
  ze_result_t setConfigExp(uint32_t count, const zes_ras_config_exp_t* config);

  // One for corrected and one for uncorrected errors; none if no controller counts them.
  static std::vector<SysmanRas*> find(const SystemFiles& files);
  SysmanRas(const SystemFiles& files, std::vector<std::string> counters, zes_ras_error_type_t type)
      : files_(files), counters_(std::move(counters)), type_(type) {}

 private:
  int total(uint64_t* errors) const;

  SystemFiles files_;
  std::vector<std::string> counters_;
  zes_ras_error_type_t type_;
};

}  // namespace anyzero
