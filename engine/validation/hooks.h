// What check mode does before and after calls of the API. `python -m codegen` finds these functions by their names: before_NAME has
// the parameters of the function and may refuse the call by a result; after_NAME has its result in front.
#pragma once

#include "../abi/gen/ze_api.h"

namespace anyzero {

// Memory
ze_result_t before_zeMemFree(ze_context_handle_t context, void* pointer);

}  // namespace anyzero
