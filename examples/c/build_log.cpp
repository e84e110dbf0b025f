// Compiler messages: a build log for each module, including one that failed to build.
#include <cstring>
#include <string>

#include "kernels.h"

namespace {

struct Build {
  ze_result_t result;
  std::string log;
};

Build build(const Setup& s, const Bytes& code, const char* options) {
  ze_module_desc_t desc = spirv_desc(code);
  desc.pBuildFlags = options;
  ze_module_handle_t module = nullptr;
  ze_module_build_log_handle_t log = nullptr;
  ze_result_t result = zeModuleCreate(s.context, s.device, &desc, &module, &log);

  // There is a log whether the build succeeds or not. A query without a buffer returns its size with the final zero.
  size_t size = 0;
  CHECK(zeModuleBuildLogGetString(log, &size, nullptr));
  std::string text(size, '\0');
  CHECK(zeModuleBuildLogGetString(log, &size, text.data()));
  text.resize(std::strlen(text.c_str()));
  CHECK(zeModuleBuildLogDestroy(log));
  if (module) CHECK(zeModuleDestroy(module));
  return {result, text};
}

}  // namespace

int main() {
  Setup s;
  Bytes code = spirv("module_variables");
  Build good = build(s, code, "-ze-opt-disable");
  prove(good.result == ZE_RESULT_SUCCESS && good.log.empty(), "the log of a valid module is empty");

  Build odd = build(s, code, "-ze-opt-level=1 -ze-sing");
  prove(odd.result == ZE_RESULT_SUCCESS && odd.log.find("-ze-sing") != std::string::npos, "an unknown option is reported: %s",
        odd.log.c_str());

  Build part = build(s, Bytes(code.begin(), code.begin() + 400), nullptr);
  prove(part.result == ZE_RESULT_ERROR_INVALID_NATIVE_BINARY || part.result == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE,
        "a truncated module is refused (%#x)", static_cast<unsigned>(part.result));
  prove(!part.log.empty(), "and the log says why: %s", part.log.substr(0, part.log.find('\n')).c_str());
}
