// The name by which the driver's cache knows a model: told by looking, without the planner and so without Python.
#pragma once

#include "content_hash.h"
#include "serialized_model.h"

namespace anyzero {

// What a model and its options become depends on nothing else. Addresses of weights do not count, what lies there does. False when
// the model is not as clients write them, or points to memory that is not there; the planner has the words for that.
bool model_key(const SerializedModel& model, const char* build_flags, ContentHash* key);

}  // namespace anyzero
