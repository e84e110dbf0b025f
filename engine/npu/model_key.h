// The key of a model in the driver's cache, computed without the planner and so without Python.
#pragma once

#include "content_hash.h"
#include "serialized_model.h"

namespace anyzero {

// The key covers everything that the result of compilation depends on. Weights count by value, not by address. False if the model
// is not in the form that clients write, or points to unmapped memory; the planner then reports the error.
bool model_key(const SerializedModel& model, const char* build_flags, ContentHash* key);

}  // namespace anyzero
