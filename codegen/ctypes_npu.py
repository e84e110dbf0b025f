"""src/anyzero/ze/npu*.py: the NPU's extensions for Python, with their tables of functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from codegen import ctypes_package, ctypes_types, gaps
from codegen.c_types import by_dependency
from codegen.model import Api, enumerators
from codegen.outputs import Output


def outputs(core: Api, npu: Api) -> Iterator[Output]:
    # The extensions are about the core API's devices, lists and events.
    npu = replace(npu, handles=(*npu.handles, *core.handles))
    own = [name for name in npu.handles if name not in core.handles]
    enums = {name: enumerators(members) for name, members in npu.enums.items()}
    plain = ctypes_package.constant_lines(npu.constants, enums)
    classes = ctypes_package.enum_lines(enums)
    module = ctypes_package.module
    yield module("npu_constants", "The constants of the NPU's extensions, for those who need no more.", plain)
    yield module("npu_enums", "Enums of the NPU's extensions as classes, for names and checks.", classes)
    yield module("npu", "The NPU's extensions: structures, and the tables of functions.", _types(npu, own))


def _types(npu: Api, handles: list[str]) -> Iterator[str]:
    spelled = [ctypes_types.spell(npu, field.type) for fields in npu.structs.values() for field in fields]
    pointers = {name: _pointer(npu, name) for name in npu.callbacks}
    used = ctypes_types.names_used([*spelled, *pointers.values(), "c_void_p"])
    yield from ctypes_types.import_from("ctypes", {"CFUNCTYPE", "Structure", *used})
    yield from ("", "from anyzero.ze.extensible import Extensible")
    yield from ("from anyzero.ze.npu_constants import *  # noqa: F403 (as in the header, they are of one place)",)
    yield from ("", *(f"{name} = c_void_p" for name in handles))
    yield from ("", *(f"{name} = {type_}" for name, type_ in pointers.items()))
    for name in by_dependency(npu.structs):
        yield from ("", "", *ctypes_package.struct_lines(npu, name, npu.structs[name], structure_type(npu, name)))
    for name, fields in npu.table_structs.items():
        yield from ("", "", f"class {name}(Structure):", "    _fields_ = [")
        yield from (f'        ("{field.name}", {field.type}),' for field in fields)
        yield "    ]"


def _pointer(npu: Api, name: str) -> str:
    """A call through one releases the GIL, and returns the number of the result."""
    params = (ctypes_types.spell(npu, param.type) for param in npu.callbacks[name])
    return f"CFUNCTYPE({', '.join(['c_uint32', *params])})"


def structure_type(npu: Api, struct: str) -> int | None:
    """Each extension counts its structures anew, in the enum that is the type of their `stype`."""
    first = npu.structs[struct][0]
    if first.name != "stype":
        return None
    plain = re.sub(r"^ze_|_t$", "", struct).upper()
    return npu.enums[first.type][f"ZE_STRUCTURE_TYPE_{gaps.NPU_STRUCTURE_TYPES.get(struct, plain)}"]
