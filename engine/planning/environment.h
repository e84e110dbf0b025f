// Trusted reads of the environment: in a program with more privileges than its user (set-user-ID, set-group-ID, file capabilities),
// variables must not choose files to read, load or start.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

namespace anyzero {

// A variable that names a path; nullptr if it is unset, empty or not trusted.
const char* path_variable(const char* name);

// A path, shortened for messages.
std::string shortened(const std::string& path);

// The search path of programs.
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
