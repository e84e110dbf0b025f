// What the planner made of a module's inputs, and the code that was loaded of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../abi/gen/ze_api.h"
#include "../exec/mutex.h"
#include "plan.h"
#include "recent.h"

namespace anyzero {

enum class CodeKind : uint32_t { Kernel, Function };

// Modules that are made from the same inputs share one, where nothing tells them apart: neither variables, whose memory each has
// for itself, nor anything to link. Threading: immutable but for the codes, once it is read.
struct Build {
  struct Variable {
    uint64_t offset;
    uint64_t size;
  };
  using Codes = std::map<std::pair<CodeKind, std::string>, Code*>;

  Build() = default;
  Build(const Build&) = delete;
  Build& operator=(const Build&) = delete;
  ~Build();

  // The planner's answer; takes device memory for the variables.
  ze_result_t read(Context& context, Device& device, Answer& answer);

  std::shared_ptr<Plan> plan;
  std::vector<std::string> kernels;
  std::vector<std::string> functions;
  std::map<std::string, Variable, std::less<>> variables;
  std::vector<std::string> imports;
  uint32_t property_flags = 0;
  std::string log;
  bool shareable = false;  // says the planner

  Guarded<Codes> codes;
};

// The builds of this process that were used last, by `build_question`.
Recent<Build>& recent_builds();

// What a build depends on: the question, and everything in the environment that the planner may go by.
std::string build_question(const Question& question);

}  // namespace anyzero
