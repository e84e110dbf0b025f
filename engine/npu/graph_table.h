// The functions of the graph extension.
#pragma once

#include "../abi/gen/ze_npu_ext.h"

namespace anyzero {

// The newest version of the extension that is implemented.
inline constexpr uint32_t kGraphVersion = ZE_GRAPH_EXT_VERSION_1_17;

// For a client of that version of the extension; 0 where it does not say. Structures that had no extension in a client's version
// may have anything in `pNext`: clients before 1.15 leave it uninitialised in ze_graph_argument_properties_3_t.
const ze_graph_dditable_ext_t& graph_table(uint32_t version);

}  // namespace anyzero
