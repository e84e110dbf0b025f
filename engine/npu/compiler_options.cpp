#include "compiler_options.h"

#include <cstring>
#include <string_view>

namespace anyzero {

namespace {
constexpr const char* kOptions =
    "NPU_PLATFORM PERFORMANCE_HINT PERFORMANCE_HINT_NUM_REQUESTS PERF_COUNT LOG_LEVEL NPU_MAX_TILES NPU_STEPPING NPU_BATCH_MODE "
    "EXECUTION_MODE_HINT INFERENCE_PRECISION_HINT COMPILATION_NUM_THREADS NPU_COMPILATION_MODE_PARAMS NPU_TURBO";
}

const char* compiler_options() { return kOptions; }

bool knows_compiler_option(const char* name, const char* value) {
  // How the client hands its model over is asked as if it were an option of the build.
  if (!std::strcmp(name, "NPU_MODEL_SERIALIZER_VERSION"))
    return !value || !std::strcmp(value, "NO_WEIGHTS_COPY") || !std::strcmp(value, "ALL_WEIGHTS_COPY");
  std::string_view left = kOptions;
  while (!left.empty()) {
    const size_t end = std::min(left.find(' '), left.size());
    if (left.substr(0, end) == name) return true;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return false;
}

}  // namespace anyzero
