/* ze_api.h has the whole specification, the parts of tools, system management and the runtime included. */
#include "ze_api.h"
