// Memory as calls and commands name it.
#include "../objects/memory/allocation.h"
#include "hooks.h"

namespace anyzero {

ze_result_t before_zeMemFree(ze_context_handle_t, void*) { return ZE_RESULT_SUCCESS; }

}  // namespace anyzero
