// The messages of the compiler or linker.
#pragma once

#include <string>

#include "../../abi/handle.h"

namespace anyzero {

// Threading: immutable, so any thread.
class ModuleBuildLog : public Object<ModuleBuildLog, Kind::ModuleBuildLog> {
 public:
  ze_result_t destroy();
  ze_result_t getString(size_t* size, char* text);

  explicit ModuleBuildLog(std::string text) : text_(std::move(text)) {}

 private:
  std::string text_;
};

}  // namespace anyzero
