"""structures.h: how large the structure behind each `stype` is."""

from __future__ import annotations

from collections.abc import Iterator

from codegen import gaps
from codegen.ctypes_package import structure_type
from codegen.model import Api
from codegen.outputs import Output, slashes


def outputs(api: Api) -> Iterator[Output]:
    sizes = {structure_type(api, name): name for name in api.structs if name.startswith("ze_")}
    types = api.enums["ze_structure_type_t"]
    sizes |= {types[type_]: name for type_, name in gaps.SECOND_STRUCTURE_TYPES.items()}
    sizes.pop(None, None)
    lines = [
        slashes(),
        "#pragma once",
        "",
        "#include <cstddef>",
        "#include <cstdint>",
        "",
        '#include "ze_api.h"',
        "",
        "namespace anyzero {",
        "",
        "// 0 for a structure type of no structure.",
        "inline size_t structure_size(uint32_t stype) {",
        "  switch (stype) {",
        *(f"    case {kind:#x}: return sizeof({name});" for kind, name in sorted(sizes.items(), key=str)),
        "    default: return 0;",
        "  }",
        "}",
        "",
        "}  // namespace anyzero",
    ]
    yield Output("engine/abi/gen/structures.h", "\n".join(lines) + "\n")
