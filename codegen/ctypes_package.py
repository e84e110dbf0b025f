"""src/anyzero/ze/: the core API for Python, as constants, enums, structures and the types of functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from codegen import ctypes_types, gaps
from codegen.c_types import by_dependency
from codegen.model import Api, Field, enumerators
from codegen.outputs import Output, hashes

FOLDER = "src/anyzero/ze"


def outputs(api: Api) -> Iterator[Output]:
    enums = {name: enumerators(members) for name, members in api.enums.items() if _is_core(name)}
    results = {"ze_result_t": enums.pop("ze_result_t")}
    structs = _structs(api)
    yield module(
        "constants",
        "Every enumerator and macro, as plain values.",
        constant_lines(_core_constants(api), results | enums),
    )
    yield module(
        "results", "What functions return; apart, because most programs need no other enum.", enum_lines(results)
    )
    yield module("enums", "Enums and flags as classes, for names and checks.", enum_lines(enums))
    yield module("structs", "Structures and handles.", _struct_lines(api, structs))
    yield module("functions", "What each function takes and returns, and since which version.", _functions(api))
    homes: dict[str, Iterable[str]] = {
        "results": results,
        "enums": enums,
        "structs": {**structs, **_aliases(api), **_handles(api), **_callbacks(api)},
    }
    yield module("index", "Which module defines each type.", _index(homes))


def module(name: str, docstring: str, lines: Iterator[str]) -> Output:
    text = "\n".join([hashes(), f'"""{docstring}"""', "", *lines])
    return Output(f"{FOLDER}/{name}.py", text.rstrip("\n") + "\n")


def _is_core(name: str) -> bool:
    return name.startswith("ze_")


def _structs(api: Api) -> dict[str, tuple[Field, ...]]:
    """Without the parameter blocks of the tracing callbacks: they belong to the tools API."""
    traced = {params[0].type.rstrip("*") for name, params in api.callbacks.items() if name.endswith("Cb_t")}
    named = {name: f for name, f in api.structs.items() if _is_core(name) and name not in traced}
    return {name: fields for name, fields in named.items() if not name.endswith("_callbacks_t")}


def _aliases(api: Api) -> dict[str, str]:
    return {name: target for name, target in api.typedefs.items() if _is_core(name) and target in _structs(api)}


def _handles(api: Api) -> dict[str, str]:
    return {name: "c_void_p" for name in api.handles if _is_core(name)}


def _callbacks(api: Api) -> dict[str, str]:
    return {
        name: f"CFUNCTYPE(None, {', '.join(ctypes_types.spell(api, param.type) for param in params)})"
        for name, params in api.callbacks.items()
        if name.startswith("ze") and "_pfn" not in name
    }


def _core_constants(api: Api) -> dict[str, str]:
    return {name: value for name, value in api.constants.items() if name.startswith("ZE_")}


def constant_lines(macros: dict[str, str], enums: dict[str, dict[str, int]]) -> Iterator[str]:
    yield from (f"{name} = {_literal(value)}" for name, value in macros.items())
    for name, members in enums.items():
        yield from ("", f"# {name}")
        yield from (f"{member} = {_number(name, value)}" for member, value in members.items())


def _literal(value: str) -> str:
    """Numbers stay as they are spelled; braces hold the bytes of a UUID; the rest are names."""
    if value.startswith("{"):
        return f"bytes.fromhex('{''.join(re.findall(r'0x([0-9A-Fa-f]{2})', value))}')"
    return value if re.fullmatch(r"0x[0-9A-Fa-f]+|[0-9]+", value) else repr(value)


def enum_lines(enums: dict[str, dict[str, int]]) -> Iterator[str]:
    bases = sorted({_base(name) for name in enums})
    yield f"from enum import {', '.join(bases)}"
    for name, members in enums.items():
        yield from ("", "", f"class {name}({_base(name)}):")
        yield from (f"    {member} = {_number(name, value)}" for member, value in members.items())


def _base(enum: str) -> str:
    return "IntFlag" if enum.endswith("_flag_t") else "IntEnum"


def _number(enum: str, value: int) -> str:
    return hex(value) if value > 0xFFFF or _base(enum) == "IntFlag" else str(value)


def _struct_lines(api: Api, structs: dict[str, tuple[Field, ...]]) -> Iterator[str]:
    aliases = {**_handles(api), **_callbacks(api)}
    spelled = [ctypes_types.spell(api, field.type) for fields in structs.values() for field in fields]
    used = ctypes_types.names_used([*spelled, *aliases.values()])
    yield from ctypes_types.import_from("ctypes", {"CFUNCTYPE", "Structure", *used})
    yield from ("", "from anyzero.ze.extensible import Extensible", "")
    yield from (f"{name} = {type_}" for name, type_ in aliases.items())
    for name in by_dependency(structs):
        yield from ("", "", *struct_lines(api, name, structs[name], structure_type(api, name)))
    yield from ("", "")
    yield from (f"{name} = {target}" for name, target in _aliases(api).items())


def struct_lines(api: Api, name: str, fields: tuple[Field, ...], kind: int | None) -> Iterator[str]:
    yield f"class {name}({'Structure' if kind is None else 'Extensible'}):"
    if kind is not None:
        yield f"    _stype_ = {hex(kind)}"
    yield "    _fields_ = ["
    yield from (f'        ("{field.name}", {_field_type(api, field)}),' for field in fields)
    yield "    ]"


def _field_type(api: Api, field: Field) -> str:
    """The `data` of an IPC handle is bytes, not text: as `c_char` ctypes would cut it at the first zero."""
    return ctypes_types.spell(api, field.type.replace("char[", "uint8_t[") if field.name == "data" else field.type)


def structure_type(api: Api, struct: str) -> int | None:
    """The value for `stype`: `ze_event_desc_t` is ZE_STRUCTURE_TYPE_EVENT_DESC, save for a few of another spelling."""
    if api.structs[struct][0].name != "stype":
        return None
    plain = re.sub(r"^ze_|_t$", "", struct).upper()
    return api.enums["ze_structure_type_t"].get(f"ZE_STRUCTURE_TYPE_{gaps.STRUCTURE_TYPES.get(struct, plain)}")


def _functions(api: Api) -> Iterator[str]:
    core = [each for each in api.functions.values() if each.namespace == "ze" or each.name in gaps.PYTHON_TOOLS]
    types = {function.name: [ctypes_types.spell(api, param.type) for param in function.params] for function in core}
    results = {function.name: ctypes_types.spell(api, function.type) for function in core}
    flat = [name for params in types.values() for name in params]
    yield from ctypes_types.import_from("ctypes", ctypes_types.names_used([*flat, *results.values()]))
    yield from ("from typing import Any", "")
    yield from ctypes_types.import_from("anyzero.ze.structs", {name for name in flat if name in api.structs})
    yield from ("", "FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...], tuple[int, int]]] = {")
    for function in core:
        params = "".join(f"{type_}, " for type_ in types[function.name]).rstrip(" ")
        yield f'    "{function.name}": ({results[function.name]}, ({params}), {function.since}),'
    yield from ("}", '"""Name: what it returns, what it takes, since which version of the API."""')


def _index(homes: dict[str, Iterable[str]]) -> Iterator[str]:
    yield "HOME = {"
    for module, names in homes.items():
        yield from (f'    "{name}": "{module}",' for name in names)
    yield "}"
