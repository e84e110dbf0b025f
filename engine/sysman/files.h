// Processor data in the operating system's files: clock rates, energy, temperatures. The files are discovered once and read on each
// query.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace anyzero {

// The file system below a root folder, "" for the real one. Nothing here throws, blocks on a pipe or reads without bounds.
class SystemFiles {
 public:
  explicit SystemFiles(std::string root = "") : root_(std::move(root)) {}

  // Returns errno, or 0 on success.
  int read(const std::string& path, std::string* text, size_t most = 4096) const;
  // A file with a single integer; EINVAL if it has other contents.
  int read(const std::string& path, int64_t* number) const;
  // The first line; empty if there is none.
  std::string line(const std::string& path) const;
  bool has_number(const std::string& path) const;
  // Names in a folder that begin with `prefix`, sorted by number.
  std::vector<std::string> names(const std::string& folder, const std::string& prefix) const;

 private:
  std::string root_;
};

// The processors' clock rate. Empty where the system does not report it.
struct CpuClock {
  std::vector<std::string> folders;  // cpufreq's, of some of the processors
  std::vector<uint32_t> processors;  // sampled if there are no folders, by their number in /proc/cpuinfo
  bool known() const { return !folders.empty() || !processors.empty(); }

  // The mean of the sampled processors, in MHz. Returns errno, or 0 on success.
  int current(const SystemFiles& files, double* mhz) const;
  // A limit by the name of its file, in MHz; negative if unknown.
  double limit(const SystemFiles& files, const char* name) const;
  std::vector<double> steps(const SystemFiles& files) const;
  // Milliseconds of thermal throttling of the package. Returns errno, or 0 on success.
  int throttled(const SystemFiles& files, int64_t* milliseconds) const;

  static CpuClock find(const SystemFiles& files);
};

// An energy counter.
struct EnergyZone {
  std::string folder;
  bool memory;        // of the memory, not the whole package
  uint64_t wraps_at;  // microjoules; 0 if it does not wrap

  static std::vector<EnergyZone> find(const SystemFiles& files);
};

struct Thermometer {
  std::string file;      // in millidegrees
  std::string critical;  // file of the critical temperature; may be missing

  static std::vector<Thermometer> find(const SystemFiles& files);
};

}  // namespace anyzero
