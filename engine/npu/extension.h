// The function tables of the NPU's extensions, which programs ask for by name.
#pragma once

namespace anyzero {

// The table of the extension called `name`, or nullptr.
void* npu_extension(const char* name);

}  // namespace anyzero
