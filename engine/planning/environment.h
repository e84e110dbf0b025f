// The environment, as far as it may be believed: in a program with more rights than whoever started it (setuid, setgid,
// capabilities of its file) variables may not choose what is read, loaded or started.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

namespace anyzero {

// A variable that names a path; nullptr where it is not set, is empty, or may not be believed.
const char* path_variable(const char* name);

// As much of a path as a message repeats.
std::string shown(const std::string& path);

// Where programs are looked for.
std::string search_path();

// The time that a planning process may be silent and idle, in milliseconds; 0 for no limit.
uint64_t planner_timeout_ms();

// The environment of a planning process: that of the program, or the harmless part of it.
class PlanningEnvironment {
 public:
  PlanningEnvironment();
  PlanningEnvironment(const PlanningEnvironment&) = delete;
  PlanningEnvironment& operator=(const PlanningEnvironment&) = delete;

  char* const* pointers() const { return pointers_.empty() ? environ : pointers_.data(); }

 private:
  std::vector<std::string> kept_;
  std::vector<char*> pointers_;
};

}  // namespace anyzero
