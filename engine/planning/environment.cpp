#include "environment.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace anyzero {

namespace {

constexpr const char* kUsualPath = "/usr/local/bin:/usr/bin:/bin";
constexpr size_t kShown = 300;
constexpr double kUsualTimeout = 60, kLongestTimeout = 1'000'000;

// The variables of anyzero.config that name paths.
constexpr std::string_view kPaths[] = {"ANYZERO_CACHE_DIR", "ANYZERO_CHECK_REPORT", "ANYZERO_DESCRIPTION", "ANYZERO_DUMP",
                                       "ANYZERO_LOADER",    "ANYZERO_PYTHON",       "ANYZERO_SAMPLES",     "ANYZERO_TRACE"};

bool is_secure() { return getauxval(AT_SECURE) != 0; }

bool is_harmless(std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('='));
  return name.starts_with("ANYZERO_") && name != "ANYZERO_CACHE" &&
         std::find(std::begin(kPaths), std::end(kPaths), name) == std::end(kPaths);
}

}  // namespace

const char* path_variable(const char* name) {
  const char* value = secure_getenv(name);
  return value && *value ? value : nullptr;
}

std::string shortened(const std::string& path) { return path.size() <= kShown ? path : path.substr(0, kShown) + "…"; }

std::string search_path() {
  const char* path = secure_getenv("PATH");
  return path ? path : kUsualPath;
}

uint64_t planner_timeout_ms() {
  const char* text = std::getenv("ANYZERO_PLANNER_TIMEOUT");
  char* end = nullptr;
  const double given = text ? std::strtod(text, &end) : 0;
  // Python checks it as well, and reports what is wrong with it.
  const bool good = text && *text && end && *end == '\0' && given >= 0 && given <= kLongestTimeout;
  return static_cast<uint64_t>(std::ceil((good ? given : kUsualTimeout) * 1000));
}

PlanningEnvironment::PlanningEnvironment() {
  if (!is_secure()) return;
  for (char* const* each = environ; each && *each; ++each)
    if (is_harmless(*each)) kept_.emplace_back(*each);
  // The cache would be in the home of the caller, which the caller can write to.
  kept_.emplace_back("ANYZERO_CACHE=off");
  kept_.emplace_back(std::string("PATH=") + kUsualPath);
  for (std::string& each : kept_) pointers_.push_back(each.data());
  pointers_.push_back(nullptr);
}

}  // namespace anyzero
