"""ze_api.h and ze_npu_ext.h: the C types of the specification."""

from __future__ import annotations

from collections.abc import Iterator

from codegen import c_types
from codegen.model import Api
from codegen.outputs import Output, slashes

FOLDER = "engine/abi/gen"

_PREAMBLE = """
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef ZE_APICALL
#if defined(_WIN32)
#define ZE_APICALL __cdecl
#else
#define ZE_APICALL
#endif
#endif

#ifndef ZE_APIEXPORT
#if defined(_WIN32)
#define ZE_APIEXPORT __declspec(dllexport)
#else
#define ZE_APIEXPORT __attribute__((visibility("default")))
#endif
#endif

#define ZE_BIT(_i) (1 << (_i))
#define ZE_MAKE_VERSION(_major, _minor) (((_major) << 16) | ((_minor) & 0x0000ffff))
#define ZE_MAJOR_VERSION(_version) ((_version) >> 16)
#define ZE_MINOR_VERSION(_version) ((_version) & 0x0000ffff)
"""

# What ZE_extension_driver_ddi_handles puts at the start of every object behind a handle.
_HANDLE = """
typedef struct _ze_handle_t {
    ze_dditable_driver_t* pCore;
    zet_dditable_driver_t* pTools;
    zes_dditable_driver_t* pSysman;
    zer_dditable_driver_t* pRuntime;
} ze_handle_t;
"""


# Headers of the specification are taken instead of ours if a program includes them first, and are skipped if it
# includes them later: ours has what is in all four.
_GUARDS = ("_ZE_API_H", "_ZET_API_H", "_ZES_API_H", "_ZER_API_H")

# Core headers before 1.17 do not have it; both may declare it.
_NPU_PREAMBLE = """
// Extensions for NPUs: graphs, profiling of graphs, and additions to queues, contexts and drivers. Their functions are
// in tables: zeDriverGetExtensionFunctionAddress(driver, ZE_GRAPH_EXT_NAME, &table), likewise with the other names.
#include "ze_api.h"

typedef struct _ze_graph_handle_t *ze_graph_handle_t;
"""


def outputs(api: Api, npu: Api) -> Iterator[Output]:
    guards = [f"#ifndef {guard}\n#define {guard}\n#endif" for guard in _GUARDS[1:]]
    core = [*guards, "", _PREAMBLE.strip(), "", *_types(api), _HANDLE.strip(), "", *c_types.prototypes(api)]
    yield Output(f"{FOLDER}/ze_api.h", _guarded(_GUARDS[0], core))
    yield Output(f"{FOLDER}/ze_npu_ext.h", _guarded("ZE_NPU_EXT_H", [_NPU_PREAMBLE.strip(), "", *_types(npu)]))


def _types(api: Api) -> Iterator[str]:
    groups = (
        c_types.handles(api),
        c_types.forward_declarations(api),
        c_types.aliases(api),
        c_types.constants(api),
        c_types.enums(api),
        c_types.function_pointers(api),
        c_types.aggregates(api),
    )
    for group in groups:
        lines = list(group)
        yield from lines
        if lines and lines[-1]:
            yield ""


def _guarded(guard: str, lines: list[str]) -> str:
    opening = [slashes(), f"#ifndef {guard}", f"#define {guard}", "", '#ifdef __cplusplus\nextern "C" {\n#endif', ""]
    closing = ["", "#ifdef __cplusplus\n}\n#endif", "", f"#endif  // {guard}"]
    return "\n".join([*opening, *lines, *closing]) + "\n"
