// The functions of the graph extension.
#pragma once

#include "../abi/gen/ze_npu_ext.h"

namespace anyzero {

// The newest implemented version of the extension.
inline constexpr uint32_t kGraphVersion = ZE_GRAPH_EXT_VERSION_1_17;

// The table for a client of that version of the extension; 0 if the client gives none. Structures that had no extension in the
// client's version may have an arbitrary `pNext`: clients before 1.15 leave it uninitialised in ze_graph_argument_properties_3_t.
const ze_graph_dditable_ext_t& graph_table(uint32_t version);

}  // namespace anyzero
