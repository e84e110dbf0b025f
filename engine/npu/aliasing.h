// Finds outputs of a compiled model that share memory with an input.
#pragma once

#include <vector>

#include "manifest.h"
#include "openvino.h"

namespace anyzero {

// Sets `aliased` of each output that the compiled model may keep in an input's memory. If a model folds to output = input (an
// Einsum "ab->ab", an If with a constant condition, a Loop that passes its value on), OpenVINO's CPU plugin computes nothing: the
// caller's output tensor stays unwritten, and the input may be lost. Only the tensor addresses in a new infer request show this. A
// dynamic output has no tensor before the first run, so it counts as aliased until then if it could be an input.
void find_aliased_outputs(const OpenVino& openvino, const OpenVino::Compiled* compiled, std::vector<GraphArgument>* arguments);

}  // namespace anyzero
