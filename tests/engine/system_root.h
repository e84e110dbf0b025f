// A file system of a test's own, for what the operating system tells about a machine.
#pragma once

#include <sched.h>

#include <cassert>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sysman/files.h"

namespace anyzero {

// A folder that looks like the root of a file system.
struct Root {
  std::filesystem::path path;
  Root() {
    char name[] = "/tmp/anyzero-sysman-XXXXXX";
    assert(mkdtemp(name));
    path = name;
  }
  ~Root() { std::filesystem::remove_all(path); }
  void write(const std::string& file, const std::string& text) const {
    const auto at = path / file;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at, std::ios::trunc) << text;
  }
  SystemFiles files() const { return SystemFiles(path.string()); }
};

inline uint32_t first_processor() {
  cpu_set_t set;
  CPU_ZERO(&set);
  assert(sched_getaffinity(0, sizeof set, &set) == 0);
  uint32_t first = 0;
  while (!CPU_ISSET(first, &set)) ++first;
  return first;
}

inline std::string cpufreq() { return "sys/devices/system/cpu/cpu" + std::to_string(first_processor()) + "/cpufreq/"; }

template <class Part>
Part* only(const std::vector<Part*>& parts) {
  assert(parts.size() == 1);
  return parts.front();
}

}  // namespace anyzero
