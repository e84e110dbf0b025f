// The result of a module's build by the planner, and the code that was loaded from it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../abi/gen/ze_api.h"
#include "../../layouts/gen/module_requests.h"
#include "../../layouts/gen/planner.h"
#include "../../system/mutex.h"
#include "plan.h"
#include "recent.h"

namespace anyzero {

class Reply;

// Modules with the same inputs share a build if they have neither variables, whose memory is per module, nor symbols to link.
// Threading: immutable once it is read, except for the codes.
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

  // Reads the planner's reply, and allocates device memory for the variables.
  ze_result_t read(Context& context, Device& device, Reply& reply);

  std::shared_ptr<Plan> plan;
  std::shared_ptr<const std::string> request;  // the request of the build; nullptr if it is too long to be kept
  std::vector<std::string> kernels;
  std::vector<std::string> functions;
  std::map<std::string, Variable, std::less<>> variables;
  std::vector<std::string> imports;
  uint32_t property_flags = 0;
  std::string log;
  bool shareable = false;  // by the planner

  Guarded<Codes> codes;
};

// The key of a build: the environment variables that the planner reads, and the request.
class BuildKey {
 public:
  explicit BuildKey(const BuildRequest& request);

  const std::string& bytes() const { return bytes_; }
  std::string_view request() const { return std::string_view(bytes_).substr(request_); }

 private:
  std::string bytes_;
  size_t request_;  // its offset
};

// The most recently used builds of this process, by their keys.
Recent<Build>& recent_builds();

}  // namespace anyzero
