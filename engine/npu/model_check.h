// Checks of a model's text that OpenVINO lacks; without them it would crash.
#pragma once

#include <string>
#include <string_view>

namespace anyzero {

// False, with the reason, for a text that must not be passed to OpenVINO.
bool check_model(std::string_view xml, std::string* reason);

}  // namespace anyzero
