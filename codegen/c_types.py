"""Spells the types of the specification as C declarations that C11 and C++20 both accept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from codegen.model import Api, Field, Function, base_type


def declarator(type_: str, name: str | None) -> str:
    """`char[256][32]` (32 names of 256 characters, innermost first in the facts) becomes `char name[32][256]`."""
    element, *dimensions = re.split(r"(?=\[)", type_, maxsplit=1)
    sizes = re.findall(r"\[\d+\]", dimensions[0]) if dimensions else []
    return " ".join(part for part in (element, name) if part) + "".join(reversed(sizes))


def parameters(params: Iterable[tuple[str | None, str]]) -> str:
    return ", ".join(declarator(type_, name) for name, type_ in params) or "void"


def prototype(function: Function) -> str:
    return f"{function.type} ZE_APICALL {function.name}({parameters((p.name, p.type) for p in function.params)})"


def constants(api: Api) -> Iterator[str]:
    for name, value in api.constants.items():
        if value.startswith("{"):
            kind = "device" if "device" in name else "driver"
            yield f"static const ze_{kind}_uuid_t {name} = {{{value}}};"
        elif re.fullmatch(r"0x[0-9A-Fa-f]+|\d+", value):
            yield f"#define {name} {value}"
        else:
            yield f'#define {name} "{value}"'


def handles(api: Api) -> Iterator[str]:
    for name in api.handles:
        yield f"typedef struct _{name} *{name};"


def enums(api: Api) -> Iterator[str]:
    for name, members in api.enums.items():
        yield f"typedef enum _{name} {{"
        for member, value in members.items():
            yield f"    {member} = {hex(value) if value > 0xFFFF or '_flag_' in name else value},"
        yield f"}} {name};"
        yield ""


def aliases(api: Api) -> Iterator[str]:
    for name, target in api.typedefs.items():
        yield f"typedef {target} {name};"


def forward_declarations(api: Api) -> Iterator[str]:
    """Every aggregate is named before any is defined, so only members held by value constrain the order."""
    for name in (*api.structs, *api.table_structs):
        yield f"typedef struct _{name} {name};"
    for name in api.unions:
        yield f"typedef union _{name} {name};"


def function_pointers(api: Api) -> Iterator[str]:
    for name, params in api.callbacks.items():
        listed = parameters((param.name, param.type) for param in params)
        yield f"typedef {_pointed_result(api, name)} (ZE_APICALL *{name})({listed});"


def _pointed_result(api: Api, name: str) -> str:
    """A slot of a table returns what its function does; any other pointer is to a callback, which returns nothing."""
    if "_pfn" not in name or name.endswith("Cb_t"):
        return "void"
    function = api.functions.get(re.sub(r"^(ze[tsr]?)_pfn(\w+)_t$", r"\1\2", name))
    return function.type if function else "ze_result_t"


def aggregates(api: Api) -> Iterator[str]:
    fields = {**api.structs, **api.unions, **api.table_structs}
    for name in by_dependency(fields):
        yield f"{'union' if name in api.unions else 'struct'} _{name} {{"
        yield from (f"    {declarator(field.type, field.name)};" for field in fields[name])
        yield "};"
        yield ""


def by_dependency(fields: dict[str, tuple[Field, ...]]) -> list[str]:
    """Names in an order in which whatever is held by value comes first."""
    ordered: dict[str, None] = {}

    def visit(name: str) -> None:
        for field in fields[name]:
            inner = base_type(field.type)
            if "*" not in field.type and inner in fields and inner not in ordered:
                visit(inner)
        ordered.setdefault(name)

    for name in fields:
        visit(name)
    return list(ordered)


def prototypes(api: Api) -> Iterator[str]:
    for function in api.functions.values():
        yield f"ZE_APIEXPORT {prototype(function)};"
