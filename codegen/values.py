"""checks.h: which values each enum and which bits each flags type has, and the C++ that asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from codegen import gaps
from codegen.model import Api, Function, enumerators
from codegen.outputs import Output, slashes


@dataclass(frozen=True)
class Value:
    """An enum or flags value that a caller passes in, by itself or inside a descriptor."""

    type: str
    expression: str
    owner: str | None = None
    """The pointer parameter it is reached through."""
    any_bits: bool = False


def inputs(api: Api, function: Function) -> Iterator[Value]:
    for param in function.params:
        if not param.input or param.name == "pNext":
            continue
        if _is_checked(api, param.type):
            yield Value(param.type, param.name)
        elif param.pointer and param.pointee in api.structs and param.length is None:
            for value in _members(api, param.pointee, f"{param.name}->"):
                yield Value(value.type, value.expression, param.name, value.any_bits)


def _members(api: Api, struct: str, prefix: str) -> Iterator[Value]:
    for field in api.structs[struct]:
        if field.name in ("stype", "pNext"):
            continue
        if _is_checked(api, field.type):
            yield Value(field.type, f"{prefix}{field.name}", any_bits=(struct, field.name) in gaps.ANY_BITS)
        elif field.type in api.structs:
            yield from _members(api, field.type, f"{prefix}{field.name}.")


def _is_checked(api: Api, type_: str) -> bool:
    return (type_ in api.enums and type_ not in gaps.OPEN_ENUMS) or api.flag_bits(type_) is not None


def unknown(api: Api, value: Value) -> str:
    """The C++ condition that holds when the value is none of the specification's."""
    if value.type in api.enums:
        return f"!known({value.expression})"
    condition = f"{value.expression} & ~{mask_name(value.type)}"
    return f"{value.expression} != UINT32_MAX && ({condition})" if value.any_bits else condition


def mask_name(flags: str) -> str:
    return f"known_{flags.removesuffix('_t')}"


def outputs(api: Api) -> Iterator[Output]:
    checking = (function for function in api.functions.values() if function.namespace in ("ze", "zes", "zet"))
    used = sorted({value.type for function in checking for value in inputs(api, function)})
    lines = [
        slashes(),
        "#pragma once",
        "",
        '#include "ze_api.h"',
        "",
        "namespace anyzero {",
        "",
        *(_mask(api, type_) for type_ in used if type_ not in api.enums),
        "",
        *(_known(api, type_) for type_ in used if type_ in api.enums),
        "",
        "}  // namespace anyzero",
    ]
    yield Output("engine/abi/gen/checks.h", "\n".join(lines) + "\n")


def _mask(api: Api, type_: str) -> str:
    mask = 0
    for bit in (api.flag_bits(type_) or {}).values():
        mask |= bit
    return f"constexpr uint32_t {mask_name(type_)} = {mask:#x};"


def _known(api: Api, type_: str) -> str:
    """An enum passed through the C ABI may hold any 32 bits, so it is compared as what it is made of."""
    spelled = {value: name for name, value in reversed(enumerators(api.enums[type_]).items())}
    values = sorted(spelled)
    first, last = spelled[values[0]], spelled[values[-1]]
    if len(values) != values[-1] - values[0] + 1:
        condition = " || ".join(f"value == {spelled[value]}" for value in values)
    elif values[0] == 0:
        condition = f"static_cast<uint32_t>(value) <= {last}"
    else:
        condition = f"value >= {first} && value <= {last}"
    return f"constexpr bool known({type_} value) {{ return {condition}; }}"
