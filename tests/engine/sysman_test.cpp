// What the operating system tells of clock, energy and temperature, from files of every kind it was seen to have, and from none.
#include <sys/stat.h>

#include "scene.h"
#include "sysman/files.h"
#include "sysman/sensors.h"
#include "system_root.h"

using namespace anyzero;

namespace {

void nothing_is_told() {
  Root root;
  assert(!CpuClock::find(root.files()).known());
  assert(SysmanFrequency::find(root.files()).empty());
  assert(SysmanPower::find(root.files()).empty());
  assert(SysmanTemperature::find(root.files()).empty());
}

void clock_from_cpufreq() {
  Root root;
  root.write(cpufreq() + "scaling_cur_freq", "2400000\n");
  root.write(cpufreq() + "cpuinfo_min_freq", "800000\n");
  root.write(cpufreq() + "cpuinfo_max_freq", "3600000\n");
  root.write(cpufreq() + "scaling_max_freq", "3000000\n");
  root.write(cpufreq() + "scaling_available_frequencies", "3600000 2400000 800000 \n");
  root.write("proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 999.0\n");
  SysmanFrequency* domain = only(SysmanFrequency::find(root.files()));
  zes_freq_properties_t properties{};
  OK(domain->getProperties(&properties));
  assert(properties.min == 800 && properties.max == 3600 && !properties.canControl && !properties.onSubdevice);
  zes_freq_range_t range{};
  OK(domain->getRange(&range));
  assert(range.min < 0 && range.max == 3000);
  zes_freq_state_t state{};
  OK(domain->getState(&state));
  assert(state.actual == 2400 && state.request < 0 && state.currentVoltage < 0);
  uint32_t count = 0;
  OK(domain->getAvailableClocks(&count, nullptr));
  assert(count == 3);
  double clocks[4] = {0, 0, 0, 7};
  count = 4;
  OK(domain->getAvailableClocks(&count, clocks));
  assert(count == 3 && clocks[0] == 800 && clocks[2] == 3600 && clocks[3] == 7);

  root.write(cpufreq() + "scaling_cur_freq", "1200000\n");
  OK(domain->getState(&state));
  assert(state.actual == 1200);
  for (const char* broken : {"", "fast\n", "-5\n", "99999999999999999999\n", "12 34\n"}) {
    root.write(cpufreq() + "scaling_cur_freq", broken);
    assert(domain->getState(&state) == ZE_RESULT_ERROR_NOT_AVAILABLE);
  }
  std::filesystem::remove_all(root.path / "sys");
  assert(domain->getState(&state) == ZE_RESULT_ERROR_NOT_AVAILABLE);
  assert(state.actual == 1200);
}

void clock_from_cpuinfo() {
  Root root;
  const std::string number = std::to_string(first_processor());
  root.write("proc/cpuinfo",
             "processor\t: " + number + "\ncpu MHz\t\t: 2596.148\nempty\t:\n:\n\nprocessor\t: 4000\ncpu MHz\t\t: 1.0\n");
  SysmanFrequency* domain = only(SysmanFrequency::find(root.files()));
  zes_freq_state_t state{};
  OK(domain->getState(&state));
  assert(state.actual > 2596.1 && state.actual < 2596.2);
  zes_freq_properties_t properties{};
  OK(domain->getProperties(&properties));
  assert(properties.min < 0 && properties.max < 0);
  // An Arm system has the file, but nothing about rates in it.
  root.write("proc/cpuinfo", "processor\t: " + number + "\nBogoMIPS\t: 50.00\ncpu MHz\t\t: nan\ncpu MHz");
  assert(SysmanFrequency::find(root.files()).empty());
  assert(domain->getState(&state) == ZE_RESULT_ERROR_NOT_AVAILABLE);
}

void energy() {
  Root root;
  const std::string top = "sys/class/powercap/";
  const std::pair<const char*, const char*> zones[] = {
      {"intel-rapl:0", "package-0"}, {"intel-rapl:0:0", "core"}, {"intel-rapl:0:1", "dram"}, {"intel-rapl:1", "psys"}};
  for (auto [zone, name] : zones) {
    root.write(top + zone + "/name", std::string(name) + "\n");
    root.write(top + zone + "/energy_uj", "1000\n");
    root.write(top + zone + "/max_energy_range_uj", "5000\n");
  }
  root.write(top + "intel-rapl:2/name", "package-1\n");  // whose counter may not be read
  const auto domains = SysmanPower::find(root.files());
  assert(domains.size() == 2);
  zes_power_domain_t kinds[2];
  for (int i = 0; i < 2; ++i) {
    zes_power_limit_ext_desc_t limit{};
    zes_power_ext_properties_t extended{};
    extended.stype = ZES_STRUCTURE_TYPE_POWER_EXT_PROPERTIES;
    extended.defaultLimit = &limit;
    zes_power_properties_t properties{};
    properties.pNext = &extended;
    OK(domains[i]->getProperties(&properties));
    assert(properties.maxLimit == -1 && limit.limit == -1 && !properties.canControl);
    kinds[i] = extended.domain;
  }
  assert(kinds[0] == ZES_POWER_DOMAIN_PACKAGE && kinds[1] == ZES_POWER_DOMAIN_MEMORY);
  zes_power_energy_counter_t counter{};
  OK(domains[0]->getEnergyCounter(&counter));
  assert(counter.energy == 1000 && counter.timestamp > 0);
  const uint64_t time = counter.timestamp;
  root.write(top + "intel-rapl:0/energy_uj", "4900\n");
  OK(domains[0]->getEnergyCounter(&counter));
  assert(counter.energy == 4900 && counter.timestamp >= time);
  root.write(top + "intel-rapl:0/energy_uj", "200\n");
  OK(domains[0]->getEnergyCounter(&counter));
  assert(counter.energy == 5200);
  root.write(top + "intel-rapl:0/energy_uj", "-3\n");
  assert(domains[0]->getEnergyCounter(&counter) == ZE_RESULT_ERROR_NOT_AVAILABLE);
  if (geteuid() != 0) {
    root.write(top + "intel-rapl:0/energy_uj", "300\n");
    std::filesystem::permissions(root.path / (top + "intel-rapl:0/energy_uj"), std::filesystem::perms::none);
    assert(domains[0]->getEnergyCounter(&counter) == ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS);
  }
  assert(counter.energy == 5200);
  uint32_t count = 7;
  OK(domains[0]->getLimitsExt(&count, nullptr));
  assert(count == 0);
}

void temperature() {
  Root root;
  root.write("sys/class/thermal/thermal_zone0/type", "acpitz\n");
  root.write("sys/class/thermal/thermal_zone0/temp", "20000\n");
  root.write("sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
  root.write("sys/class/thermal/thermal_zone1/temp", "51000\n");
  double degrees = 0;
  zes_temp_properties_t properties{};
  OK(only(SysmanTemperature::find(root.files()))->getState(&degrees));
  assert(degrees == 51);

  // What says more about it is taken instead.
  root.write("sys/class/hwmon/hwmon1/name", "nvme\n");
  root.write("sys/class/hwmon/hwmon1/temp1_input", "1000\n");
  const std::string package = "sys/class/hwmon/hwmon10/";
  root.write(package + "name", "coretemp\n");
  root.write(package + "temp2_label", "Core 0\n");
  root.write(package + "temp2_input", "47500\n");
  root.write(package + "temp9_label", "Package id 0\n");
  root.write(package + "temp9_input", "48250\n");
  root.write(package + "temp9_crit", "100000\n");
  SysmanTemperature* sensor = only(SysmanTemperature::find(root.files()));
  OK(sensor->getState(&degrees));
  assert(degrees == 48.25);
  OK(sensor->getProperties(&properties));
  assert(properties.maxTemperature == 100 && properties.type == ZES_TEMP_SENSORS_GLOBAL);
  root.write(package + "temp9_input", "hot\n");
  assert(sensor->getState(&degrees) == ZE_RESULT_ERROR_NOT_AVAILABLE && degrees == 48.25);
}

void endless_files() {
  const SystemFiles real;
  std::string text;
  assert(real.read("/dev/zero", &text, 1000) == 0 && text.size() == 1000);
  Root root;
  assert(mkfifo((root.path / "pipe").c_str(), 0600) == 0);
  int64_t number;
  assert(root.files().read("/pipe", &number) != 0);
  assert(root.files().read("/", &number) != 0);
}

}  // namespace

int main() {
  nothing_is_told();
  clock_from_cpufreq();
  clock_from_cpuinfo();
  energy();
  temperature();
  endless_files();
  std::puts("sysman_test: ok");
  return 0;
}
