#include "module_build_log.h"

#include "text.h"

namespace anyzero {

ze_result_t ModuleBuildLog::destroy() {
  retire();
  return ZE_RESULT_SUCCESS;
}

ze_result_t ModuleBuildLog::getString(size_t* size, char* text) { return copy_out(text_.c_str(), text_.size() + 1, size, text); }

}  // namespace anyzero
