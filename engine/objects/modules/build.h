// What the planner made of a module's inputs, and the code that was loaded of it.
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

  // The planner's reply; takes device memory for the variables.
  ze_result_t read(Context& context, Device& device, Reply& reply);

  std::shared_ptr<Plan> plan;
  std::shared_ptr<const std::string> request;  // that it was made from; nullptr where it is too long to be kept
  std::vector<std::string> kernels;
  std::vector<std::string> functions;
  std::map<std::string, Variable, std::less<>> variables;
  std::vector<std::string> imports;
  uint32_t property_flags = 0;
  std::string log;
  bool shareable = false;  // says the planner

  Guarded<Codes> codes;
};

// Everything that a build depends on: the variables that the planner may go by, and the request.
class BuildKey {
 public:
  explicit BuildKey(const BuildRequest& request);

  const std::string& bytes() const { return bytes_; }
  std::string_view request() const { return std::string_view(bytes_).substr(request_); }

 private:
  std::string bytes_;
  size_t request_;  // where it begins
};

// The builds of this process that were used last, by their keys.
Recent<Build>& recent_builds();

}  // namespace anyzero
