#include "compiler_options.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace anyzero {

namespace {

// docs/npu.md describes the effect of each option; the planner reads the values.
constexpr const char* kOptions =
    "NPU_PLATFORM PERFORMANCE_HINT PERFORMANCE_HINT_NUM_REQUESTS PERF_COUNT LOG_LEVEL NPU_MAX_TILES NPU_STEPPING NPU_BATCH_MODE "
    "EXECUTION_MODE_HINT INFERENCE_PRECISION_HINT COMPILATION_NUM_THREADS NPU_COMPILATION_MODE NPU_COMPILATION_MODE_PARAMS "
    "NPU_BACKEND_COMPILATION_PARAMS NPU_TURBO NPU_TILES NPU_DMA_ENGINES NPU_DYNAMIC_SHAPE_TO_STATIC NPU_QDQ_OPTIMIZATION "
    "NPU_QDQ_OPTIMIZATION_AGGRESSIVE NPU_COMPILER_DYNAMIC_QUANTIZATION NPU_ENABLE_STRIDES_FOR CACHE_MODE ENABLE_WEIGHTLESS";

// Internal options between a client and the compiler: the number of calls in which a weightless model is compiled.
constexpr std::array kUnlisted = {"WS_COMPILE_CALL_NUMBER", "NPU_SEPARATE_WEIGHTS_VERSION"};

}  // namespace

const char* compiler_options() { return kOptions; }

bool knows_compiler_option(const char* name, const char* value) {
  // Clients query the serializer version as if it were a build option.
  if (!std::strcmp(name, "NPU_MODEL_SERIALIZER_VERSION"))
    return !value || !std::strcmp(value, "NO_WEIGHTS_COPY") || !std::strcmp(value, "ALL_WEIGHTS_COPY");
  if (std::any_of(kUnlisted.begin(), kUnlisted.end(), [&](const char* each) { return !std::strcmp(name, each); })) return true;
  std::string_view left = kOptions;
  while (!left.empty()) {
    const size_t end = std::min(left.find(' '), left.size());
    if (left.substr(0, end) == name) return true;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return false;
}

}  // namespace anyzero
