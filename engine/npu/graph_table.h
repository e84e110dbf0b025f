// The functions of the graph extension.
#pragma once

#include "../abi/gen/ze_npu_ext.h"

namespace anyzero {

extern ze_graph_dditable_ext_t graph_table;

}  // namespace anyzero
