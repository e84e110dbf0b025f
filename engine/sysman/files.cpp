#include "files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>

#include "../system/descriptor.h"

namespace anyzero {

namespace {

constexpr size_t kMostParts = 64;          // of a kind; larger machines use other names
constexpr size_t kMostProcessors = 16;     // a query may wake a processor, so large machines are sampled
constexpr size_t kWholeFile = 4u << 20;    // of /proc/cpuinfo
constexpr double kFastestMhz = 1'000'000;  // higher values are not clock rates

// The number at the end of a name, so that hwmon10 sorts after hwmon9.
uint64_t number_in(const std::string& name) {
  const size_t digits = name.find_first_of("0123456789");
  uint64_t number = 0;
  if (digits != std::string::npos) std::from_chars(name.data() + digits, name.data() + name.size(), number);
  return number;
}

// The processors in this process's affinity mask, or an evenly spread sample if there are many.
std::vector<uint32_t> some_processors() {
  std::vector<uint32_t> all, some;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (uint32_t i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) all.push_back(i);
  const size_t count = std::min(all.size(), kMostProcessors);
  for (size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

// The mean of "cpu MHz" over `processors`; 0 if there is none.
double mean_of_cpuinfo(const std::string& text, const std::vector<uint32_t>& processors) {
  double sum = 0;
  size_t count = 0;
  bool counts = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const size_t colon = line.find(':');
    if (colon == std::string::npos || colon + 2 > line.size()) continue;
    const char *value = line.data() + std::min(colon + 2, line.size()), *stop = line.data() + line.size();
    if (line.starts_with("processor")) {
      uint32_t number = UINT32_MAX;
      std::from_chars(value, stop, number);
      counts = std::find(processors.begin(), processors.end(), number) != processors.end();
    } else if (counts && line.starts_with("cpu MHz")) {
      double mhz = 0;
      std::from_chars(value, stop, mhz);
      if (!(mhz > 0 && mhz < kFastestMhz)) continue;
      sum += mhz;
      ++count;
    }
  }
  return count ? sum / static_cast<double>(count) : 0;
}

}  // namespace

int SystemFiles::read(const std::string& path, std::string* text, size_t most) const {
  Descriptor file(open((root_ + path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (*file < 0) return errno;
  text->clear();
  char part[4096];
  while (text->size() < most) {
    const ssize_t n = ::read(*file, part, std::min(sizeof part, most - text->size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) break;
    text->append(part, static_cast<size_t>(n));
  }
  return 0;
}

std::string SystemFiles::line(const std::string& path) const {
  std::string text;
  if (read(path, &text)) return {};
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

int SystemFiles::read(const std::string& path, int64_t* number) const {
  std::string text;
  if (int error = read(path, &text)) return error;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc{} && end == text.data() + text.size() ? 0 : EINVAL;
}

bool SystemFiles::has_number(const std::string& path) const {
  int64_t number;
  return read(path, &number) == 0;
}

std::vector<std::string> SystemFiles::names(const std::string& folder, const std::string& prefix) const {
  std::vector<std::string> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir((root_ + folder).c_str()), closedir);
  while (const dirent* entry = open ? readdir(open.get()) : nullptr)
    if (std::string_view(entry->d_name).starts_with(prefix)) found.emplace_back(entry->d_name);
  std::sort(found.begin(), found.end(),
            [](const std::string& a, const std::string& b) { return std::pair(number_in(a), a) < std::pair(number_in(b), b); });
  if (found.size() > kMostParts) found.resize(kMostParts);
  return found;
}

CpuClock CpuClock::find(const SystemFiles& files) {
  CpuClock clock;
  clock.processors = some_processors();
  for (uint32_t processor : clock.processors) {
    std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/cpufreq/";
    if (files.has_number(folder + "scaling_cur_freq")) clock.folders.push_back(std::move(folder));
  }
  double mhz;
  if (!clock.folders.empty() || clock.current(files, &mhz)) clock.processors.clear();
  return clock;
}

int CpuClock::current(const SystemFiles& files, double* mhz) const {
  if (folders.empty()) {
    std::string text;
    if (int error = files.read("/proc/cpuinfo", &text, kWholeFile)) return error;
    *mhz = mean_of_cpuinfo(text, processors);
    return *mhz > 0 ? 0 : ENODATA;
  }
  double sum = 0;
  size_t count = 0;
  int failure = 0;
  for (const std::string& folder : folders) {
    int64_t khz;
    const int error = files.read(folder + "scaling_cur_freq", &khz);
    if (error || khz <= 0) {
      // An offline processor has no clock rate; the others' mean is used.
      failure = error ? error : EINVAL;
      continue;
    }
    sum += static_cast<double>(khz) / 1000;
    ++count;
  }
  if (count == 0) return failure;
  *mhz = sum / static_cast<double>(count);
  return 0;
}

double CpuClock::limit(const SystemFiles& files, const char* name) const {
  int64_t khz;
  if (folders.empty() || files.read(folders.front() + name, &khz) || khz <= 0) return -1;
  return static_cast<double>(khz) / 1000;
}

int CpuClock::throttled(const SystemFiles& files, int64_t* milliseconds) const {
  if (folders.empty()) return ENOENT;
  // Not "..": cpufreq is a symbolic link.
  const std::string processor = folders.front().substr(0, folders.front().rfind("cpufreq/"));
  const int error = files.read(processor + "thermal_throttle/package_throttle_total_time_ms", milliseconds);
  return !error && *milliseconds < 0 ? EINVAL : error;
}

std::vector<double> CpuClock::steps(const SystemFiles& files) const {
  std::vector<double> steps;
  if (folders.empty()) return steps;
  const std::string text = files.line(folders.front() + "scaling_available_frequencies");
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    int64_t khz = 0;
    const auto [next, error] = std::from_chars(at, end, khz);
    if (error == std::errc{} && khz > 0) steps.push_back(static_cast<double>(khz) / 1000);
    at = error == std::errc{} ? next + 1 : at + 1;
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::vector<EnergyZone> EnergyZone::find(const SystemFiles& files) {
  std::vector<EnergyZone> zones;
  const std::string top = "/sys/class/powercap/";
  for (const std::string& name : files.names(top, "intel-rapl:")) {
    const std::string folder = top + name + "/", kind = files.line(folder + "name");
    const bool memory = kind == "dram";
    // The package's counter includes its subdomains; on most systems only root may read any of them.
    if ((!memory && !kind.starts_with("package")) || !files.has_number(folder + "energy_uj")) continue;
    int64_t range = 0;
    if (files.read(folder + "max_energy_range_uj", &range)) range = 0;
    zones.push_back({folder, memory, range > 0 ? static_cast<uint64_t>(range) : 0});
  }
  return zones;
}

std::vector<Thermometer> Thermometer::find(const SystemFiles& files) {
  std::vector<Thermometer> found;
  const std::string hwmon = "/sys/class/hwmon/";
  for (const std::string& name : files.names(hwmon, "hwmon")) {
    const std::string folder = hwmon + name + "/", kind = files.line(folder + "name");
    if (kind != "coretemp" && kind != "k10temp" && kind != "zenpower" && kind != "cpu_thermal") continue;
    // One sensor reports the whole package; without labels that is the first.
    std::string chosen;
    for (const std::string& file : files.names(folder, "temp")) {
      const size_t tail = file.rfind("_input");
      if (tail == std::string::npos || !files.has_number(folder + file)) continue;
      const std::string sensor = folder + file.substr(0, tail), label = files.line(sensor + "_label");
      const bool whole = label.starts_with("Package") || label == "Tctl" || label == "Tdie";
      if (chosen.empty() || whole) chosen = sensor;
      if (whole) break;
    }
    if (!chosen.empty()) found.push_back({chosen + "_input", chosen + "_crit"});
  }
  if (!found.empty()) return found;
  const std::string thermal = "/sys/class/thermal/";
  for (const std::string& name : files.names(thermal, "thermal_zone")) {
    const std::string folder = thermal + name + "/", kind = files.line(folder + "type");
    if (kind != "x86_pkg_temp" && !kind.starts_with("cpu")) continue;
    if (files.has_number(folder + "temp")) found.push_back({folder + "temp", ""});
  }
  return found;
}

}  // namespace anyzero
