// Outputs that lie in an input's memory after OpenVINO has compiled a model.
#pragma once

#include <vector>

#include "manifest.h"
#include "openvino.h"

namespace anyzero {

// Sets `aliased` of each output that the compiled model may keep where an input lies. Where a model folds to output = input (an
// Einsum "ab->ab", an If with a constant condition, a Loop that passes its value on), OpenVINO's CPU plugin computes nothing: an
// output tensor of the caller stays unwritten, and the input may be lost. The compiled model alone tells, by where a new request
// has its tensors. A dynamic output has none before the first run, so one that could be an input counts as aliased until then.
void find_aliased_outputs(const OpenVino& openvino, const OpenVino::Compiled* compiled, std::vector<GraphArgument>* arguments);

}  // namespace anyzero
