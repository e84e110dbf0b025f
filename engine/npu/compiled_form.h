// The form in which OpenVINO's CPU plugin keeps a compiled model: what a blob has beside the IR, so that it is ready sooner. It is
// for one processor and one build of OpenVINO; elsewhere the IR is compiled again.
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

// What compiled models depend on besides the model: the instructions of this processor and what else decides about them.
ContentHash processor_identity();

// The same and the library: where a blob has this identity, its form may be used.
ContentHash form_identity(const OpenVino& openvino);

// The library takes a compiled form without properties, so one is kept of models that were compiled with none that matter.
bool has_form(const std::vector<std::pair<std::string, std::string>>& properties);

// Nothing where the library has no such form, or it is not worth its size.
std::shared_ptr<const Mapping> export_form(const OpenVino& openvino, const OpenVino::Compiled* compiled);

}  // namespace anyzero
