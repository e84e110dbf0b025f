// What the operating system tells about the processor in its files: clock rates, energy, temperatures. Which files there are is
// found out once; their contents are read at each query.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace anyzero {

// The file system that starts at a folder, "" for the real one. Nothing here throws, blocks on a pipe or reads without bounds.
class SystemFiles {
 public:
  explicit SystemFiles(std::string root = "") : root_(std::move(root)) {}

  // The errno of the failure, 0 when it went well.
  int read(const std::string& path, std::string* text, size_t most = 4096) const;
  // A file that holds a whole number and nothing else; EINVAL when it holds something else.
  int read(const std::string& path, int64_t* number) const;
  // The first line; empty when there is none.
  std::string line(const std::string& path) const;
  bool has_number(const std::string& path) const;
  // Names in a folder that begin with `prefix`, in order of their numbers.
  std::vector<std::string> names(const std::string& folder, const std::string& prefix) const;

 private:
  std::string root_;
};

// The processors' clock rate. Empty where the system does not report it.
struct CpuClock {
  std::vector<std::string> folders;  // cpufreq's, of some of the processors
  std::vector<uint32_t> processors;  // those that count where there are no folders, by their number in /proc/cpuinfo
  bool known() const { return !folders.empty() || !processors.empty(); }

  // In MHz: the mean of those that count. The errno of the failure, 0 when it went well.
  int current(const SystemFiles& files, double* mhz) const;
  // A limit by the name of its file, in MHz; negative when it is not known.
  double limit(const SystemFiles& files, const char* name) const;
  std::vector<double> steps(const SystemFiles& files) const;
  // Milliseconds that the package was too hot for its rate. The errno of the failure, 0 when it went well.
  int throttled(const SystemFiles& files, int64_t* milliseconds) const;

  static CpuClock find(const SystemFiles& files);
};

// A counter of energy.
struct EnergyZone {
  std::string folder;
  bool memory;        // of the memory, not the whole package
  uint64_t wraps_at;  // microjoules; 0 when it does not

  static std::vector<EnergyZone> find(const SystemFiles& files);
};

struct Thermometer {
  std::string file;      // in thousandths of a degree
  std::string critical;  // the file with the highest allowed; may be missing

  static std::vector<Thermometer> find(const SystemFiles& files);
};

}  // namespace anyzero
