// The function tables of the NPU's extensions, which programs ask for by name.
#pragma once

#include <cstdint>

namespace anyzero {

// The table of the extension called `name`, or nullptr. `version` is the client's; 0 if it names none.
void* npu_extension(const char* name, uint32_t version = 0);

}  // namespace anyzero
