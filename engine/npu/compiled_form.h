// The form: a compiled model as exported by OpenVINO's CPU plugin. A blob stores it beside the IR to load faster. It is valid for
// one processor type and one build of OpenVINO; otherwise the IR is compiled again.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "blob.h"
#include "content_hash.h"
#include "openvino.h"

namespace anyzero {

// Hash of everything besides the model that compilation depends on: the processor's instruction set and the settings that restrict
// it.
ContentHash processor_identity();

// The same with the library's build. The form of a blob may be used if the blob has this identity.
ContentHash form_identity(const OpenVino& openvino);

// Imports take no properties, so a form is kept only of models that were compiled without properties that matter.
bool has_form(const std::vector<std::pair<std::string, std::string>>& properties);

// nullptr if the library cannot export one, or if it is too large to be useful.
std::shared_ptr<const Mapping> export_form(const OpenVino& openvino, const OpenVino::Compiled* compiled);

}  // namespace anyzero
