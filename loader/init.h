// The calls that initialize the drivers, for layers: they cannot go through the table that they fill.
#pragma once

#include "ze_api.h"

namespace anyzero::loader {

ze_result_t init(ze_init_flags_t flags);
ze_result_t init_drivers(uint32_t* count, ze_driver_handle_t* drivers, ze_init_driver_type_desc_t* desc);
ze_result_t init_sysman(zes_init_flags_t flags);

}  // namespace anyzero::loader
