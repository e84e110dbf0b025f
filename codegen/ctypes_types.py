"""Spells the types of the specification as ctypes expressions."""

from __future__ import annotations

import re

from codegen.model import Api

_SCALARS = {
    "bool": "c_bool",
    "char": "c_char",
    "int": "c_int",
    "unsigned int": "c_uint",
    "float": "c_float",
    "double": "c_double",
    "size_t": "c_size_t",
    "uintptr_t": "c_size_t",
    **{f"{sign}int{bits}_t": f"c_{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def spell(api: Api, type_: str) -> str:
    """A pointer is an address (`c_void_p`): that also takes what lives on a device, and `byref(...)` of anything."""
    element, *dimensions = re.split(r"(?=\[)", type_, maxsplit=1)
    if dimensions:
        sizes = re.findall(r"\d+", dimensions[0])
        return " * ".join([spell(api, element), *sizes])
    if type_ == "const char*":
        return "c_char_p"
    if type_.endswith("*") or type_ in api.handles or type_ in api.callbacks:
        return "c_void_p"
    if type_ in api.enums:
        return "c_uint32"
    if type_ in api.structs:
        return type_
    if type_ in api.typedefs:
        return spell(api, api.typedefs[type_])
    return _SCALARS[type_]


def names_used(expressions: list[str]) -> set[str]:
    """The names that the generated module has to import from ctypes."""
    return {name for text in expressions for name in re.findall(r"\bc_\w+", text)}


def import_from(module: str, names: set[str]) -> list[str]:
    """An import statement as the linter lays it out: constants, classes, then the rest, c_uint8 before c_uint32."""

    def rank(name: str) -> tuple[int, list[str | int]]:
        kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
        return kind, [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]

    ordered = sorted(names, key=rank)
    line = f"from {module} import {', '.join(ordered)}"
    return [line] if len(line) <= 120 else [f"from {module} import (", *(f"    {name}," for name in ordered), ")"]
